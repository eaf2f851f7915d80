"""bregopt against what one would use instead of it."""
