"""A matrix as 'bregopt bench race' takes it: one that is built in, or a file."""

import numpy as np
from benchopt import BaseDataset

import bregopt as bo
from bregopt.matrices import BUILT_IN, built_in, read_matrix


class Dataset(BaseDataset):
    """``mycielskian(9)``, ``synthetic(300, 200, 10)``, or the path of a file, as a dense array."""

    name = "Matrix"
    requirements = ["pip::bregopt"]
    parameters = {"which": ["mycielskian(9)"]}
    test_parameters = {"which": ["mycielskian(4)"]}

    def get_data(self):
        if self.which.partition("(")[0] in BUILT_IN:
            spec = bo.parse_spec(self.which)
            M = built_in(spec.name, *spec.args, **spec.kwargs)
        else:
            M = read_matrix(self.which)
        return {"M": np.asarray(M.toarray() if hasattr(M, "toarray") else M, float)}
