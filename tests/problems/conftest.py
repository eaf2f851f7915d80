"""The matrix and the start that methods are held to their references on; a module sets RANK, and SHAPE for another."""

import numpy as np
import pytest

import bregopt as bo


def shape_of(request):
    return getattr(request.module, "SHAPE", (31, 23))


@pytest.fixture(scope="module")
def M(request):
    """The ReLU of a matrix of rank 3, shifted so that it is sparse."""
    (m, n), rng = shape_of(request), np.random.default_rng(7)
    return np.maximum(0, rng.standard_normal((m, 3)) @ rng.standard_normal((3, n)) - 0.3)


@pytest.fixture(scope="module")
def start(request, M):
    """Gaussian factors, each of the norm √‖M‖."""
    (m, n), r, rng = shape_of(request), request.module.RANK, np.random.default_rng(8)
    U, V = rng.standard_normal((m, r)), rng.standard_normal((r, n))
    size = np.sqrt(np.linalg.norm(M))
    return bo.Blocks(U=U * size / np.linalg.norm(U), V=V * size / np.linalg.norm(V))
