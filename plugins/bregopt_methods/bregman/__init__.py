"""Methods that take Bregman proximal steps on all blocks at once."""
