"""Rules for β, for λ and for the end of a run."""
