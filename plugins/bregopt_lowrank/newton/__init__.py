"""Newton steps on the rows of a factor."""
