"""What this plugin registers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bregopt import Blocks, ClosedFormBlock, Oracle, Problem, Registrar, SmoothPart, Start, hookimpl
from bregopt_problems.binary import binary
from bregopt_problems.blind_deconvolution import FlatBlur, blind_deconvolution
from bregopt_problems.completion import completion
from bregopt_problems.cp import cp
from bregopt_problems.deep_linear import Balanced, deep_linear
from bregopt_problems.dictionary import dictionary
from bregopt_problems.graph_nmf import graph_nmf
from bregopt_problems.graph_relu_nmd import graph_relu_nmd
from bregopt_problems.kl_nmf import kl_nmf
from bregopt_problems.logistic import logistic
from bregopt_problems.measured import LeadingEigenvector, Measured, MeasuredOracle, RandomRay
from bregopt_problems.nmf import nmf
from bregopt_problems.no_w import NoW
from bregopt_problems.nonnegative import AbsoluteRandom
from bregopt_problems.one_bit import one_bit
from bregopt_problems.phase_retrieval import Phases, phase_retrieval
from bregopt_problems.poisson import Poisson, PoissonOracle, poisson
from bregopt_problems.quadratic_inverse import quadratic_inverse
from bregopt_problems.robust_pca import robust_pca
from bregopt_problems.semi_nmf import semi_nmf
from bregopt_problems.sparse_pca import PrincipalComponents, sparse_pca
from bregopt_problems.symmetric import symmetric
from bregopt_problems.tensor_completion import tensor_completion

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "nmf": nmf,
    "semi-nmf": semi_nmf,
    "completion": completion,
    "robust-pca": robust_pca,
    "one-bit": one_bit,
    "logistic": logistic,
    "binary": binary,
    "symmetric": symmetric,
    "dictionary": dictionary,
    "graph-relu-nmd": graph_relu_nmd,
    "graph-nmf": graph_nmf,
    "poisson": poisson,
    "quadratic-inverse": quadratic_inverse,
    "phase-retrieval": phase_retrieval,
    "kl-nmf": kl_nmf,
    "cp": cp,
    "tensor-completion": tensor_completion,
    "deep-linear": deep_linear,
    "blind-deconvolution": blind_deconvolution,
    "sparse-pca": sparse_pca,
}

ALIASES: dict[str, tuple[str, ...]] = {
    "completion": ("matrix-completion",),
    "robust-pca": ("rpca",),
    "logistic": ("logistic-pca",),
    "symmetric": ("symmetric-nmf",),
    "dictionary": ("dictionary-learning",),
    "cp": ("parafac", "candecomp"),
}
"""Other names that people know them by."""

STARTS: dict[str, Callable[..., Start]] = {
    "absolute-random": AbsoluteRandom,
    "leading-eigenvector": LeadingEigenvector,
    "random-ray": RandomRay,
    "balanced": Balanced,
    "flat-blur": FlatBlur,
    "pca": PrincipalComponents,
}


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    for name, problem in PROBLEMS.items():
        registry.add(Problem, name, problem, ALIASES.get(name, ()))
    for name, start in STARTS.items():
        registry.add(Start, name, start)


@hookimpl
def bregopt_resolve_oracle(smooth: SmoothPart, block: ClosedFormBlock) -> Oracle | None:
    if isinstance(smooth, Measured) and isinstance(block, (NoW, Phases)):
        return MeasuredOracle(smooth, block.of if isinstance(block, Phases) else block.of_measurements)
    if isinstance(smooth, Poisson) and isinstance(block, NoW):
        return PoissonOracle(smooth)
    return None


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind != "problem":
        return []
    rng = np.random.default_rng(0)
    return [(label, (it, _point(it, rng))) for label, it in _small_problems(rng)]


def _point(problem: Problem, rng: np.random.Generator) -> Blocks:
    """A point where H is finite, twice as far out as the start, where F bends more."""
    return problem.regularizer.prox(2.0 * problem.first_point(None, rng), 1e-3)


def _small_problems(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    M = rng.standard_normal((6, 5))
    positive, known, labels = np.abs(M), rng.random((6, 5)) < 0.7, np.where(M > 0, 1.0, -1.0)
    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    yield "nmf", nmf(positive, 2, U="l1(0.1)", V="l1(0.1)")
    yield "semi-nmf", semi_nmf(M, 2, weights=positive)
    yield "completion", completion(M, 2, mask=known, U="ridge(0.1)", V="ridge(0.1)")
    yield "completion, sparse", completion(csr_array(np.where(known, M, 0.0)), 2, held_out=0.2)
    yield "robust-pca", robust_pca(M, 2)
    yield "one-bit", one_bit(labels, 2, mask=known)
    yield "logistic", logistic(labels > 0, 2, labels="01", weights=positive)
    yield "binary", binary(csr_array((M > 0.5).astype(float)), 2)
    yield "symmetric", symmetric(M @ M.T, 2)
    yield "dictionary", dictionary(M, 2)
    yield "graph-relu-nmd", graph_relu_nmd(np.maximum(M, 0.0), 2, ring, 0.5, V="ridge(0.1)")
    yield "graph-nmf", graph_nmf(positive, 2, csr_array(ring), V="ridge(0.1)")
    yield "poisson", poisson(positive[:, :4], np.rint(3.0 * positive[:, 4]), H="l1(0.1)", background=0.5)
    yield "poisson, reverse", poisson(csr_array(known * positive), 0.1 + positive[:, 0], reverse=True)
    A = rng.standard_normal((9, 3)) + 1j * rng.standard_normal((9, 3))
    yield "quadratic-inverse", quadratic_inverse(A.real, np.square(A.real.sum(axis=1)) - 0.5, H="l1(0.1)")
    yield "phase-retrieval", phase_retrieval(csr_array(A.imag), np.abs(A.imag.sum(axis=1)), magnitudes=True)
    yield "phase-retrieval, complex", phase_retrieval(A, np.square(np.abs(A[:, 0])), H="l21(0.1)")
    yield "kl-nmf", kl_nmf(positive, 2, U="l1(0.1)")
    T = np.einsum("ip,jp,kp->ijk", *(rng.standard_normal((size, 2)) for size in (5, 4, 3)))
    T += 0.1 * rng.standard_normal(T.shape)
    yield "cp", cp(T, 2, H="ridge(0.1)", U2="l1(0.1)")
    yield "cp, non-negative", cp(np.abs(T), 2, nonneg=True)
    yield "tensor-completion", tensor_completion(T, 2, mask=rng.random(T.shape) < 0.7)
    yield "deep-linear", deep_linear(M, 3, widths=(3, 2))
    yield "deep-linear, with inputs", deep_linear(M, 3, rank=2, inputs=rng.standard_normal((4, 5)), H="ridge(0.1)")
    yield "blind-deconvolution", blind_deconvolution(M, (2, 3))
    yield "sparse-pca", sparse_pca(M, 2)
