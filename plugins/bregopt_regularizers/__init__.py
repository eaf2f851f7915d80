"""Regularizers, one file each."""
