"""What ``bregopt new`` writes for the kinds that this plugin declares."""
