"""Problems by name, one file each: those of a matrix, for which ``low-rank`` does the work, and those of a vector."""

from bregopt_problems.measured import signal
from bregopt_problems.robust_pca import outliers

__all__ = ["outliers", "signal"]
