"""What is claimed, and tried: a file for each case, with one function for each check."""
