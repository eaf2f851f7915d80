"""Tables: rows and columns with names."""
