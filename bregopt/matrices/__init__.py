"""Matrices for problems: read from files, or generated without one."""

from bregopt.matrices.files import read_matrix
from bregopt.matrices.generated import BUILT_IN, built_in, mycielskian, synthetic

__all__ = ["BUILT_IN", "built_in", "mycielskian", "read_matrix", "synthetic"]
