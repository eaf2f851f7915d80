"""ReLU-NMD: the data matrix, the W block, the loss, its kernels, and the pass.

What a plugin that brings another kind of matrix needs is named here.
"""

from bregopt_relu.data import as_data
from bregopt_relu.matrix import Answer, Ask, Matrix
from bregopt_relu.spectrum import gram, image, perron_bound, subspace

__all__ = ["Answer", "Ask", "Matrix", "as_data", "gram", "image", "perron_bound", "subspace"]
