"""Pictures of handwritten digits that come with scikit-learn, a row each."""

from benchopt import BaseDataset
from sklearn.datasets import load_digits


class Dataset(BaseDataset):
    """1797 pictures of 8×8 pixels between 0 and 1."""

    name = "Digits"
    requirements = ["scikit-learn"]

    def get_data(self):
        return {"M": load_digits().data / 16.0}
