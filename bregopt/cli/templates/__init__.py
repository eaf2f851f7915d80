"""The code that ``bregopt new`` writes for each kind; ``$name`` and the like are filled in."""
