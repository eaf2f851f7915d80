"""Matrices for problems: read from files, taken from frames with their labels, or generated without a file."""

from bregopt.matrices.files import read, read_matrix
from bregopt.matrices.generated import BUILT_IN, built_in, mycielskian, synthetic
from bregopt.matrices.labelled import LabelledMatrix

__all__ = ["BUILT_IN", "LabelledMatrix", "built_in", "mycielskian", "read", "read_matrix", "synthetic"]
