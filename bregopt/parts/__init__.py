"""The interfaces that plugins implement, and what pairs of parts resolve to."""
