"""The pluggy host: who provides what, by name."""
