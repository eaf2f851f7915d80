"""What this plugin registers."""

from bregopt import ClosedFormBlock, Method, Oracle, Registrar, SmoothPart, Start, hookimpl
from bregopt_lowrank.factorization import Factorization, LowRankBlock
from bregopt_lowrank.graph import SmoothOracle, WithSmooth
from bregopt_lowrank.newton.masked_newton import MaskedNewton
from bregopt_lowrank.oracle import FusedOracle
from bregopt_lowrank.starts import TSVD, ScaledRandom


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(SmoothPart, "factorization", Factorization)
    registry.add(Start, "scaled-random", ScaledRandom)
    registry.add(Start, "tsvd", TSVD)
    registry.add(Method, "masked-newton", MaskedNewton)


@hookimpl
def bregopt_resolve_oracle(smooth: SmoothPart, block: ClosedFormBlock) -> Oracle | None:
    if not isinstance(block, LowRankBlock):
        return None
    if isinstance(smooth, WithSmooth):
        return SmoothOracle(smooth, FusedOracle(block))
    return FusedOracle(block) if isinstance(smooth, Factorization) else None
