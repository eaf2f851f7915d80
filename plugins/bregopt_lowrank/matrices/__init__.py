"""The data matrix M, wherever it lies."""
