"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bregopt import ClosedFormBlock, KernelPolicy, Method, Oracle, Problem, Registrar, SmoothPart, Start, hookimpl, make
from bregopt_lowrank import model_checks
from bregopt_lowrank.factorization import Factorization, LowRankBlock
from bregopt_lowrank.forward import Convolution, Linear
from bregopt_lowrank.losses import checks as loss_checks
from bregopt_lowrank.losses.epsilon_insensitive import EpsilonInsensitive
from bregopt_lowrank.losses.huber import Huber
from bregopt_lowrank.losses.interval import Interval
from bregopt_lowrank.losses.least_squares import LeastSquares
from bregopt_lowrank.losses.logistic import Logistic
from bregopt_lowrank.losses.loss import EntrywiseLoss
from bregopt_lowrank.losses.modulus import Modulus
from bregopt_lowrank.losses.one_bit import OneBit
from bregopt_lowrank.losses.ordinal import Ordinal
from bregopt_lowrank.losses.quantile import Quantile
from bregopt_lowrank.losses.quantised import Quantised
from bregopt_lowrank.losses.square import Square
from bregopt_lowrank.models import Model, Product, Symmetric, WithBias
from bregopt_lowrank.multilinear import CP, Chain
from bregopt_lowrank.newton.masked_newton import MaskedNewton
from bregopt_lowrank.oracle import FusedOracle
from bregopt_lowrank.policies import fixed, paper, s4, tight
from bregopt_lowrank.problem import low_rank
from bregopt_lowrank.smooth_terms import SmoothOracle, WithSmooth
from bregopt_lowrank.starts import NNDSVD, TSVD, ScaledRandom
from bregopt_lowrank.warm_up import Runs, short_runs

LOSSES: dict[str, type[EntrywiseLoss]] = {
    "least-squares": LeastSquares,
    "huber": Huber,
    "quantile": Quantile,
    "epsilon-insensitive": EpsilonInsensitive,
    "interval": Interval,
    "one-bit": OneBit,
    "logistic": Logistic,
    "ordinal": Ordinal,
    "modulus": Modulus,
    "square": Square,
    "quantised": Quantised,
}
MODELS: dict[str, type[Model]] = {
    "product": Product,
    "symmetric": Symmetric,
    "with-bias": WithBias,
    "cp": CP,
    "chain": Chain,
    "linear": Linear,
    "convolution": Convolution,
}
ALIASES: dict[str, tuple[str, ...]] = {
    "least-squares": ("l2", "mse", "frobenius"),
    "quantile": ("pinball",),
    "logistic": ("bernoulli",),
    "with-bias": ("biased",),
    "cp": ("parafac", "candecomp"),
}
"""Other names that people know them by."""
EXAMPLES = {
    "loss": [
        "least-squares", "huber(0.3)", "quantile(0.9, 0.2)", "epsilon-insensitive(0.5)", "interval", "one-bit",
        "logistic", "ordinal(2)", "ordinal(7)", "modulus", "square", "quantised(-1, 2)",
    ],
    "model": ["product", "symmetric", "with-bias", "cp(3)", "cp(4)", "chain(3)", "chain(2)"],
}  # fmt: skip


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.kind("loss", EntrywiseLoss, checks=loss_checks.CHECKS)
    registry.kind("model", Model, checks=model_checks.CHECKS)
    registry.add(SmoothPart, "factorization", Factorization)
    registry.add(Problem, "low-rank", low_rank)
    for name, model in MODELS.items():
        registry.add(Model, name, model, ALIASES.get(name, ()))
    for name, loss in LOSSES.items():
        registry.add(EntrywiseLoss, name, loss, ALIASES.get(name, ()))
    for kernel in (paper, tight, s4, fixed):
        registry.add(KernelPolicy, kernel.__name__, kernel)
    registry.add(Start, "scaled-random", ScaledRandom, aliases=("random",))
    registry.add(Start, "tsvd", TSVD, aliases=("svd",))
    registry.add(Start, "nndsvd", NNDSVD)
    registry.add(Method, "masked-newton", MaskedNewton)


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    found = [(spec, make(kind, spec)) for spec in EXAMPLES.get(kind, [])]
    if kind == "model":
        rng = np.random.default_rng(0)
        A, X = rng.standard_normal((6, 4)), rng.standard_normal((3, 5))
        found += [("linear", Linear(A)), ("linear, sparse", Linear(csr_array(A * (A > 0))))]
        found += [("convolution", Convolution((3, 2))), ("chain with inputs", Chain(3, (2, 3), X))]
    return found


@hookimpl
def bregopt_resolve_oracle(smooth: SmoothPart, block: ClosedFormBlock) -> Oracle | None:
    if not isinstance(block, LowRankBlock):
        return None
    if isinstance(smooth, WithSmooth):
        return SmoothOracle(smooth, FusedOracle(block))
    return FusedOracle(block) if isinstance(smooth, Factorization) else None


@hookimpl
def bregopt_warm_up() -> Runs:
    return short_runs("low-rank")
