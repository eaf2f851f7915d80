"""A plain answer: what came out of a run, in sentences for people who did not write the method."""

from collections.abc import Mapping, Sequence

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.parts.data_model import DataModel, percent
from bregopt.rules.stopping import Status

LIMITS = (Status.MAX_ITERATIONS, Status.MAX_SECONDS, Status.MAX_PRODUCTS)
FAILED = (Status.NOT_FINITE, Status.DIVERGED)
LATELY = 0.1
"""The last part of a run, by which its progress is judged."""
NOTHING = 1e-4
"""The relative fall of the objective over that part below which nothing happens any more."""


def sparsity(Y: Blocks) -> dict[str, float]:
    """The share of the entries of each block that are exactly zero."""
    return {name: float(np.mean(Y[name] == 0)) if Y[name].size else 0.0 for name in Y.names}


def sentences(
    model: DataModel | None,
    metrics: Mapping[str, float],
    status: Status,
    reason: str,
    objectives: Sequence[float] | Array,
    zeros: Mapping[str, float],
) -> list[str]:
    """How well the data are explained, why the run ended, and which blocks have zeros."""
    quality = "" if model is None else model.answer(metrics)
    return [f"{text}." for text in (quality,) if text] + [ending(status, reason, objectives), *_zeros(zeros)]


def ending(status: Status, reason: str, objectives: Sequence[float] | Array) -> str:
    """Why the run ended, and whether it was worth going on."""
    word = reason.partition(" ")[0]
    last = reason[:1].lower() + reason[1:] if word.isalpha() and word.istitle() else reason
    if status in FAILED:
        return f"The run failed: {last}"
    if status in LIMITS:
        limit = reason.removeprefix("The limit of ").removesuffix(" was reached.")
        where = f"it stopped at the limit of {limit}" if limit != reason else f"it stopped: {last.rstrip('.')}"
        if len(objectives) < 2:
            return f"Nothing was tried: {where}."
        fall = _recent_fall(objectives)
        return f"Still improving: {where}." if fall > NOTHING else f"Hardly improving any more: {where}."
    if status is Status.INTERRUPTED:
        return reason
    return f"Converged: {last}" if status.converged else f"Stopped: {last}"


def _recent_fall(objectives: Sequence[float] | Array) -> float:
    """By how much of itself the objective fell over the last tenth of the run."""
    back = max(1, round(LATELY * (len(objectives) - 1)))
    before, now = float(objectives[-1 - back]), float(objectives[-1])
    return (before - now) / (abs(before) or 1.0)


def _zeros(zeros: Mapping[str, float]) -> list[str]:
    """``U 14 % zeros, V 9 %.``; nothing where no block has any."""
    if not any(zeros.values()):
        return []
    first, *rest = ((name, percent(share)) for name, share in zeros.items())
    return [f"{first[0]} {first[1]} zeros{''.join(f', {name} {share}' for name, share in rest)}."]
