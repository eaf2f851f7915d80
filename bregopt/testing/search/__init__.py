"""How counterexamples are searched for: where to look, and what to compare."""
