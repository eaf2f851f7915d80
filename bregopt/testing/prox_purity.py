"""The prox is a function: it writes nowhere, shares nothing and remembers nothing."""

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail
from bregopt.testing.subject import Subject


def fresh(H: Regularizer, draw: Draw) -> None:
    """Neither value nor prox writes into its input, and the answer is no view of the input or of another answer."""
    subject = Subject.of(H)
    for X, step in subject.cases(draw, (1e-3, 1.0, 1e3)):
        for given in (X, subject.prox(X, step)):
            _untouched(H, given, step)
            first, second = H.prox(given, step), H.prox(-2.0 * given, step)
            if np.shares_memory(first, second):
                code = snippet("print(np.shares_memory(part.prox(X, step), part.prox(-2 * X, step)))", X=X, step=step)
                fail(f"step {step:g}: two answers of prox share their memory", code)


def _untouched(H: Regularizer, X: Array, step: float) -> None:
    room = X.copy()
    H.value(room)
    if not np.array_equal(room, X):
        fail("value wrote into its input", snippet("kept = X.copy()", "part.value(X)", "print(X - kept)", X=X))
    Z = H.prox(room, step)
    if not np.array_equal(room, X):
        code = snippet("kept = X.copy()", "part.prox(X, step)", "print(X - kept)", X=X, step=step)
        fail(f"step {step:g}: prox wrote into its input", code)
    if np.shares_memory(Z, room):
        code = snippet("print(np.shares_memory(part.prox(X, step), X))", X=X, step=step)
        fail(f"step {step:g}: prox returned its input, or a view of it", code)
    room.flags.writeable = False
    try:
        H.value(room)
        H.prox(room, step)
    except ValueError as error:
        code = snippet("X.flags.writeable = False", "part.prox(X, step)", X=X, step=step)
        fail(f"step {step:g}: an input that cannot be written to is refused: {error}", code)


def deterministic(H: Regularizer, draw: Draw) -> None:
    """The same question has the same answer, whatever was asked in between."""
    subject = Subject.of(H)
    cases = list(subject.cases(draw, (1e-2, 1.0, 1e2)))
    first = [subject.prox(X, step) for X, step in cases]
    values = [subject.value(Z) for Z in first]
    for (X, step), Z, value in reversed(list(zip(cases, first, values, strict=True))):
        again = subject.prox(X, step)
        subject.prox(2.0 * X[::-1], 0.5 * step)
        once_more = subject.prox(X, step)
        if not (np.array_equal(Z, again) and np.array_equal(Z, once_more)) or subject.value(Z) != value:
            lines = ["first = part.prox(X, step)", "part.prox(2.0 * X[::-1], 0.5 * step)"]
            show = "print(first - part.prox(X, step))"
            fail(f"step {step:g}: prox answers differently when asked again", snippet(*lines, show, X=X, step=step))
