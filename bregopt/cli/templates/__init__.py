"""What ``bregopt new`` writes; ``$name``, ``$module`` and ``$class_name`` are filled in."""
