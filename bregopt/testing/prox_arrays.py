"""The prox takes any array: both precisions, thin shapes, any order in memory."""

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail
from bregopt.testing.subject import Subject, fits


def shape_and_dtype(H: Regularizer, draw: Draw) -> None:
    """Shape and dtype are kept, and where the entries lie in memory makes no difference."""
    subject = Subject.of(H)
    m, n = subject.shape
    shapes = [subject.shape, *(shape for shape in ((1, 1), (1, n), (m, 1)) if fits(H, shape))]
    for shape in shapes:
        for step in subject.steps:
            X = draw.gauss(shape)
            for dtype in (np.float64, np.float32):
                _kept(H, X.astype(dtype), step)
            _any_order(subject, X, step)


def _kept(H: Regularizer, X: Array, step: float) -> None:
    Z = H.prox(X, step)
    found = (type(Z), np.shape(Z), getattr(Z, "dtype", None))
    if found != (np.ndarray, X.shape, X.dtype):
        code = snippet("Z = part.prox(X, step)", "print(type(Z), Z.shape, Z.dtype)", X=X, step=step)
        fail(f"step {step:g}: prox made {_said(found)} of {_said((np.ndarray, X.shape, X.dtype))}", code)


def _any_order(subject: Subject, X: Array, step: float) -> None:
    wide = np.full((X.shape[0], 2 * X.shape[1]), 7.0)
    wide[:, ::2] = X
    Z = subject.prox(X, step)
    for same, how in (
        (np.asfortranarray(X), "np.asfortranarray(X)"),
        (wide[:, ::2], "np.repeat(X, 2, axis=1)[:, ::2]"),
    ):
        other = subject.H.prox(same, step)
        value, wanted = subject.value(other), subject.value(Z)
        if np.abs(other - Z).max() > 1e-9 * np.abs(X).max() or abs(value - wanted) > 1e-9 * abs(wanted):
            code = snippet(f"print(part.prox({how}, step) - part.prox(X, step))", X=X, step=step)
            fail(f"step {step:g}: {how} has another prox than X, which has the same entries", code)


def _said(found: tuple[type, tuple[int, ...], object]) -> str:
    kind, shape, dtype = found
    return f"{kind.__name__} of {dtype} and shape {shape}"
