"""``bregopt bench race``: methods against each other on the same problems, from the same starts."""
