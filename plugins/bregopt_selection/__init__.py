"""Choosing the rank and the weights by entries that the fit does not see: ``rank_curve``, ``weight_path``."""

from bregopt_selection.curve import Curve, Fit
from bregopt_selection.paths import rank_curve, weight_path

__all__ = ["Curve", "Fit", "rank_curve", "weight_path"]
