"""Problems by name, one file each: those of a matrix, for which ``low-rank`` does the work, and those of a vector."""

from bregopt_problems.measured import signal
from bregopt_problems.robust_pca import outliers
from bregopt_problems.sparse_pca import explained_variance

__all__ = ["explained_variance", "outliers", "signal"]
