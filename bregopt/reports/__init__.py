"""Results as pictures and as a page: curves, factors, what each component is made of."""
