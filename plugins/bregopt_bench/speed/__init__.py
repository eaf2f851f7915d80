"""``bregopt bench pass`` and ``bregopt bench scale``: seconds and memory of one pass over M."""
