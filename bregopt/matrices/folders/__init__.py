"""Folders that hold one matrix."""
