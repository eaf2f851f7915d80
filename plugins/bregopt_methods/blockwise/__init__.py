"""Methods that minimise over one block after the other."""
