"""The paper's data sets and experiments: ``bregopt data`` and ``bregopt reproduce``."""
