"""Methods that take a proximal gradient step on each block in turn."""
