"""Problems by name, one file each: defaults and checks for ``low-rank``, which does the work."""

from bregopt_problems.robust_pca import outliers
from bregopt_problems.sparse_pca import explained_variance

__all__ = ["explained_variance", "outliers"]
