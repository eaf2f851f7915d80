"""What is known of every data set before it is read: files, shape, non-zeros, classes, and where it comes from."""

from collections.abc import Mapping
from typing import final

from attrs import frozen

from bregopt_paper.datasets.files import DataFile

CAI = "http://www.cad.zju.edu.cn/home/dengcai/Data/data.html"
LECUN = "http://yann.lecun.com/exdb/mnist/"
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
"""Of MNIST, kept by the PyTorch project."""
SUITE_SPARSE = "https://sparse.tamu.edu/"


@final
@frozen
class Facts:
    """What ``bregopt data list`` shows, and ``bregopt data check`` compares; for the default parameters."""

    shape: tuple[int, int]
    nonzeros: int
    classes: int | None
    provenance: str
    source: str = ""
    """the page of who publishes it"""
    files: tuple[DataFile, ...] = ()
    """none where it is generated"""

    @property
    def percent(self) -> float:
        """Of the entries that are not zero."""
        return 100 * self.nonzeros / (self.shape[0] * self.shape[1])


def _mnist(name: str, sha256: str, packed: str) -> DataFile:
    return DataFile(f"MNIST/{name}", sha256, (LECUN + name, MIRROR + name), packed)


MNIST = (
    _mnist(
        "train-images-idx3-ubyte.gz",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _mnist(
        "train-labels-idx1-ubyte.gz",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
)
"""Images and labels of the training set."""

FACTS: Mapping[str, Facts] = {
    "coil20": Facts(
        (1440, 1024), 967507, 20, "COIL20: objects on a turntable (research data, D. Cai)", CAI,
        (DataFile("COIL20/COIL20.mat", "2a35c105dbb327492b90389e55612bcbf39187bc7c408252239903e4ce7d6958"),),
    ),
    "pie": Facts(
        (2856, 1024), 2674997, 68, "CMU PIE: faces, pose 27 (research data, D. Cai)", CAI,
        (DataFile("PIE/PIE_pose27.mat", "035fdd73d5f4234d958b3c88f20bd8aae3871080246139896a23e61487134680"),),
    ),
    "tdt2": Facts(
        (9394, 36771), 1224135, 30, "TDT2: words of news (research data, D. Cai)", CAI,
        (DataFile("TDT2/TDT2.mat", "a28844f8bf18076838ede0d7554c8c2476d6b6d1c7eb57558e7288e10d16fde9"),),
    ),
    "orl": Facts(
        (400, 4096), 1638399, 40, "ORL: faces, 64×64 (research data, D. Cai)", CAI,
        (DataFile("ORL/ORL_64x64.mat", "8235e632b2083a2422cb1c2c5e0eda4272af2aa0b40abce20868ad09e5ba92a5"),),
    ),
    "yaleb": Facts(
        (2414, 1024), 2418549, 38, "Extended Yale B: faces, 32×32 (research data, D. Cai)", CAI,
        (DataFile("YaleB/YaleB_32x32.mat", "3fbbda4eb781b9bb28025189677b6727706e114eb0215bbfd718f1f4fcb54b99"),),
    ),
    "mnist": Facts((60000, 784), 8994156, 10, "MNIST: digits, the training set (Y. LeCun)", LECUN, MNIST),
    "mnist-1000": Facts((10000, 784), 1513639, 10, "MNIST: the first 1000 images of each digit", LECUN, MNIST),
    "netz4504-dual": Facts(
        (615, 615), 2342, None, "netz4504_dual: a mesh (SuiteSparse, CC-BY 4.0)", SUITE_SPARSE,
        (
            DataFile(
                "netz4504_dual/netz4504_dual.mat",
                "0ca477b80a71aeb12a01483e37989956f54a89154b7c949a81c8f05a12b9fb04",
                ("https://sparse.tamu.edu/mat/AG-Monien/netz4504_dual.mat",),
            ),
        ),
    ),
    "mycielskian": Facts((1535, 1535), 134710, None, "Mycielskian graph; k = 11 is one of SuiteSparse"),
    "synthetic": Facts((1500, 500), 243207, None, "the paper's max(0, UV), sparse Gaussian U and V"),
    "identity": Facts((100, 100), 100, None, "identity matrix"),
    "blocks": Facts((100, 100), 2500, 4, "blocks of ones along the diagonal"),
    "tiny-faces": Facts((120, 256), 19040, 6, "made-up faces for quick runs"),
    "tiny-documents": Facts((200, 500), 6506, 5, "made-up word counts for quick runs"),
}  # fmt: skip
