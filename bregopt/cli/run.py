"""One run of ``bregopt solve``: what was asked and what came of it, as plain JSON values."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from attrs import asdict, frozen

import bregopt
from bregopt.engine.certificate import Certificate
from bregopt.engine.result import Result


@final
@frozen(kw_only=True)
class Asked:
    """The matrix and the specs of a run, as the user named them."""

    matrix: str
    shape: tuple[int, int]
    nonzeros: int
    rank: int
    U: str
    V: str
    kernel: str


@final
@frozen(eq=False, kw_only=True)
class Run:
    """A finished run."""

    problem: Asked
    method: str
    start: str | None
    seed: int
    result: Result

    def as_json(self) -> dict[str, Any]:
        """The run as JSON values; what is not finite is null."""
        result = self.result
        record = {
            "version": bregopt.__version__,
            "problem": {"name": "relu-nmd", **asdict(self.problem)},
            "method": self.method,
            "start": self.start,
            "seed": self.seed,
            "objective": result.objective,
            "relative_error": result.metrics.get("relative_error"),
            "model_residual": result.metrics.get("model_residual"),
            "status": result.status.value,
            "reason": result.reason,
            "converged": result.converged,
            "iterations": result.iterations,
            "seconds": result.seconds,
            "products": result.counts.products,
            "certificate": _certificate(result.certificate),
        }
        return {key: plain(value) for key, value in record.items()}


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "lyapunov": certificate.lyapunov,
        "rises": certificate.rises,
        "guaranteed": certificate.guaranteed,
        "assumptions": {
            name: {"statement": it.statement, "failed_at": it.failed_at} for name, it in certificate.assumptions.items()
        },
        "largest_norm": certificate.largest_norm,
        "stationarity": certificate.stationarity,
        "subgradient": certificate.subgradient,
        "relative_subgradient": certificate.relative_subgradient,
        "first_residual": certificate.first_residual,
        "notes": certificate.notes,
    }


def plain(value: Any) -> Any:
    """As JSON can hold it: lists, text for paths, and neither nan nor inf."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
