"""Problems by name, one file each: defaults and checks for ``low-rank``, which does the work."""

from bregopt_problems.robust_pca import outliers

__all__ = ["outliers"]
