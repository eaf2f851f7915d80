"""The data sets that lie in files, each with a sample in a row, and in the scale of its file unless it says otherwise.

Every file is compared with its checksum before it is read, so a damaged one never gets as far as a reader.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bregopt.matrices import read_matrix
from bregopt_paper.datasets.dataset import Dataset
from bregopt_paper.datasets.facts import FACTS
from bregopt_paper.datasets.files import locate, verified

Labels = NDArray[np.integer[Any]]
OF_EACH_DIGIT = 1000


def coil20() -> Dataset:
    """COIL20: 1440 pictures of 20 objects, 32×32 pixels from 0 to 1."""
    return _with_labels("coil20")


def pie() -> Dataset:
    """CMU PIE, pose 27: 2856 pictures of 68 faces, 32×32 pixels from 0 to 255."""
    return _with_labels("pie")


def tdt2() -> Dataset:
    """TDT2: how often 36771 words occur in 9394 documents on 30 topics, sparse."""
    return _with_labels("tdt2")


def orl() -> Dataset:
    """ORL: 400 pictures of 40 faces, 64×64 pixels from 0 to 255."""
    return _with_labels("orl")


def yaleb() -> Dataset:
    """Extended Yale B: 2414 pictures of 38 faces, 32×32 pixels from 0 to 255."""
    return _with_labels("yaleb")


def mnist() -> Dataset:
    """MNIST: the 60000 training images of 10 digits, 28×28 pixels divided by 255."""
    images, digits = _mnist("mnist")
    return _divided("mnist", images, digits)


def mnist_1000() -> Dataset:
    """MNIST: the first 1000 training images of each digit, digit by digit, 28×28 pixels divided by 255."""
    images, digits = _mnist("mnist-1000")
    rows = np.concatenate([np.flatnonzero(digits == digit)[:OF_EACH_DIGIT] for digit in range(10)])
    return _divided("mnist-1000", images[rows], digits[rows])


def netz4504_dual() -> Dataset:
    """The 0/1 adjacency matrix of the finite element graph netz4504_dual with 615 vertices, sparse."""
    ((path, _),) = _verified("netz4504-dual")
    return Dataset("netz4504-dual", _float64(read_matrix(path)), None, FACTS["netz4504-dual"].provenance)


def _with_labels(name: str) -> Dataset:
    """From a MATLAB file with the matrix ``fea`` and the classes ``gnd``."""
    from scipy.io import loadmat

    ((path, data),) = _verified(name)
    classes = loadmat(BytesIO(data), variable_names=["gnd"])["gnd"]
    labels = np.unique(classes, return_inverse=True)[1].ravel()
    return Dataset(name, _float64(read_matrix(path)), labels, FACTS[name].provenance)


def _verified(name: str) -> list[tuple[Path, bytes]]:
    """The files of a data set, each with its bytes."""
    facts = FACTS[name]
    paths = [locate(file, name, facts.source) for file in facts.files]
    return [(path, verified(path, file)) for path, file in zip(paths, facts.files, strict=True)]


def _float64(M: Any) -> Any:
    """In rows, as numbers of double precision."""
    return np.ascontiguousarray(M, np.float64) if isinstance(M, np.ndarray) else M.astype(np.float64, copy=False)


def _mnist(name: str) -> tuple[Any, Labels]:
    """Images of bytes, one in a row, and their digits."""
    images, digits = (idx(data) for _, data in _verified(name))
    return images.reshape(len(images), -1), digits.astype(np.int64)


def idx(data: bytes) -> Any:
    """The array of an idx file: two zeros, the type (8, bytes), the number of sizes, the sizes, and the bytes."""
    sizes = np.frombuffer(data, ">u4", data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + sizes.nbytes).reshape(sizes)


def _divided(name: str, images: Any, digits: Labels) -> Dataset:
    M = images.astype(np.float64)
    M /= 255
    return Dataset(name, M, digits, FACTS[name].provenance)
