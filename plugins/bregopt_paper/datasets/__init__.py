"""The data sets of the paper: where they lie, what they hold, and how to check them."""
