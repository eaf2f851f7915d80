"""Losses e(x; m) of one entry, and what the passes over M make of them."""
