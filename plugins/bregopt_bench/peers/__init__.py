"""Methods of other libraries that take part in the race."""
