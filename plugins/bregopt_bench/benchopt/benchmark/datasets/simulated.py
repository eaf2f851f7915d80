"""A product of two non-negative factors, most of whose entries are zero, and noise."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """``M = max(0, AB + noise)`` with A, B ≥ 0."""

    name = "Simulated"
    requirements = ["numpy"]
    parameters = {"size": [(300, 200, 10)], "noise": [0.01], "seed": [0]}
    test_parameters = {"size": [(30, 20, 3)]}

    def get_data(self):
        m, n, rank = self.size
        rng = np.random.default_rng(self.seed)
        A, B = (np.maximum(rng.standard_normal(shape), 0.0) for shape in ((m, rank), (rank, n)))
        return {"M": np.maximum(A @ B + self.noise * rng.standard_normal((m, n)), 0.0)}
