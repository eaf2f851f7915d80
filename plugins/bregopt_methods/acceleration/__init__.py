"""What speeds up other methods: mixing, quasi-Newton directions, a change of method."""
