"""Methods for non-negative factors."""
