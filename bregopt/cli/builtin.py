"""A real matrix that needs no file: the Mycielskian graph of order 9."""

from typing import Any

ORDER = 9
NAME = "mycielskian9 (built in)"


def mycielskian(order: int = ORDER) -> Any:
    """The 0/1 adjacency matrix of the Mycielskian graph, triangle-free with chromatic number ``order``, in CSR."""
    import numpy as np
    from scipy.sparse import block_array, csr_array

    A = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    for _ in range(order - 2):
        one = csr_array(np.ones((A.shape[0], 1)))
        A = block_array([[A, A, None], [A, None, one], [None, one.T, None]], format="csr")
    return A
