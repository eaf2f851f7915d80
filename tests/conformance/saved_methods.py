"""Methods with planted mistakes in what they carry on from state to state."""

from typing import Any, ClassVar

import attrs

import bregopt as bo


@attrs.frozen
class Around(bo.Method):
    """APB, with something of its own in ``inner``."""

    apb: Any = attrs.field(factory=lambda: bo.make("method", "apb"))

    def carry(self, k):
        return None

    def start(self, problem, Y):
        return self.shown(self.apb.start(problem, Y))

    def advance(self, problem, state):
        return self.shown(self.apb.advance(problem, state.inner[0]))

    def shown(self, state):
        return attrs.evolve(state, inner=(state, self.carry(state.iteration)))


class WithFunction(Around):
    """A function cannot be saved."""

    def carry(self, k):
        return {"key": lambda: k}


class WithObjects(Around):
    """Nor can an array of objects."""

    def carry(self, k):
        import numpy as np

        return np.array([object()])


class WithHiddenState(Around):
    """It counts where no state knows of it."""

    calls: ClassVar = []

    def advance(self, problem, state):
        self.calls.append(1)
        after = super().advance(problem, state)
        return attrs.evolve(after, step=after.step + len(self.calls))


def made_in_a_function():
    @attrs.frozen
    class Local:
        k: int

    class WithLocalClass(Around):
        def carry(self, k):
            return Local(k)

    return WithLocalClass()
