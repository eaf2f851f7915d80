"""Estimators of scikit-learn: ``from bregopt_sklearn import ReluNMD, LowRank``."""

try:
    import sklearn.utils.validation as _validation
except ImportError:
    _validation = None
if not hasattr(_validation, "validate_data"):  # which came with scikit-learn 1.6
    raise ImportError('bregopt_sklearn needs scikit-learn 1.6 or newer. Install it: pip install "bregopt[sklearn]".')

from bregopt_sklearn.low_rank import LowRank
from bregopt_sklearn.relu_nmd import ReluNMD

__all__ = ["LowRank", "ReluNMD"]
