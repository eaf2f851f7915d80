"""The value is a Python float, finite at the prox, and never nan or −∞."""

import math
from collections.abc import Iterator

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail
from bregopt.testing.subject import Subject


def finite_at_prox(H: Regularizer, draw: Draw) -> None:
    """What the prox returns is feasible, in both precisions."""
    subject = Subject.of(H)
    for X, step in subject.cases(draw):
        for given in (X, np.abs(X), X.astype(np.float32)):
            value = subject.value(subject.prox(given, step))
            if not math.isfinite(value):
                code = snippet("Z = part.prox(X, step)", f"print(Z, part.value(Z))  # {value}", X=given, step=step)
                fail(f"step {step:g}: H is {value} at the prox", code)


def _points(subject: Subject, draw: Draw) -> Iterator[Array]:
    yield np.zeros(subject.shape)
    for X, step in subject.cases(draw):
        yield from (X, -X, 1e6 * X, subject.prox(X, step), X.astype(np.float32))


def python_float(H: Regularizer, draw: Draw) -> None:
    """A numpy scalar warns where it overflows and has another precision; ``float(…)`` makes it a number."""
    for X in _points(Subject.of(H), draw):
        value = H.value(X)
        if type(value) is not float:
            code = snippet("print(type(part.value(X)))", X=X)
            fail(f"value returned a {type(value).__name__}, not a Python float: wrap it in float(...)", code)


def not_negative_infinite(H: Regularizer, draw: Draw) -> None:
    """H is proper: never −∞, never nan."""
    subject = Subject.of(H)
    for X in _points(subject, draw):
        value = subject.value(X)
        if math.isnan(value) or value == -math.inf:
            fail(f"H is {value}", snippet("print(part.value(X))", X=X))
