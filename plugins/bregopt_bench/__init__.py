"""``bregopt bench``: how fast a pass is on this machine, and how far methods get at equal cost."""
