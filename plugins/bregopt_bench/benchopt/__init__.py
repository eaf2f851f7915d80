"""The race as a benchmark that the tool benchopt runs."""
