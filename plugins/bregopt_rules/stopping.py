"""Stop rules."""

import math
from typing import final

from attrs import field, frozen

from bregopt import Progress, Status, StopRule, Verdict, validate
from bregopt.errors import IncompatibleError

AGAIN = 20
"""Iterations between two computations of the subgradient."""
ROUNDING = 1e-12
"""The share of the objective by which rounding may raise it where it stands still."""
LONG = 10
"""How many times its patience a plateau waits where the objective never stands still."""


def _limit(used: float, limit: float, status: Status, shown: str) -> Verdict | None:
    """The verdict where a limit was reached."""
    return None if used < limit else Verdict(status, f"The limit of {shown} was reached.")


@final
@frozen
class MaxIterations(StopRule):
    """Stops after ``number`` iterations."""

    number: int = field(default=1000, validator=validate.whole(at_least=0))
    certain = True

    def judge(self, progress: Progress) -> Verdict | None:
        return _limit(progress.iteration, self.number, Status.MAX_ITERATIONS, f"{self.number} iterations")


@final
@frozen
class MaxSeconds(StopRule):
    """Stops after ``seconds`` by the clock."""

    seconds: float = field(default=60.0, validator=validate.number(at_least=0))
    certain = True

    def judge(self, progress: Progress) -> Verdict | None:
        return _limit(progress.seconds, self.seconds, Status.MAX_SECONDS, f"{self.seconds:g} seconds")


@final
@frozen
class MaxProducts(StopRule):
    """Stops after ``number`` products of 2·m·n·r flops."""

    number: float = field(default=3000.0, validator=validate.number(at_least=0))
    certain = True

    def judge(self, progress: Progress) -> Verdict | None:
        return _limit(progress.products, self.number, Status.MAX_PRODUCTS, f"{self.number:g} products")


@final
@frozen
class RelativeError(StopRule):
    """Stops when the problem's relative error is at most ``tolerance``."""

    tolerance: float = field(default=1e-4, validator=validate.number(at_least=0))

    def judge(self, progress: Progress) -> Verdict | None:
        error = progress.metrics.get("relative_error")
        if error is None:
            raise IncompatibleError(
                "The stop rule 'relative-error' needs a problem with a relative error; this has none."
            )
        if not error <= self.tolerance:  # nor where it is nan
            return None
        return Verdict(Status.RELATIVE_ERROR, f"The relative error is {error:.2e}, within {self.tolerance:g}.")


@final
@frozen
class Stationarity(StopRule):
    """Stops when some A ∈ ∂Φ has ``|A| ≤ tolerance·max(first, |∇F|)``, where ``first`` is that size at the start.

    A is looked for once the free residual is at most ``tolerance·first``. As everything is relative, the unit of the
    data has no influence.
    """

    tolerance: float = field(default=1e-6, validator=validate.number(at_least=0))

    def judge(self, progress: Progress) -> Verdict | None:
        if not self._due(progress):
            return None
        relative = progress.subgradient()
        if relative is None or not relative <= self.tolerance:
            return None
        return Verdict(
            Status.STATIONARY,
            f"A subgradient of relative size {relative:.2e} was found, within {self.tolerance:g}.",
        )

    def _due(self, progress: Progress) -> bool:
        """Now and then once the free residual is small; where a method has none, now and then from the start."""
        since, residual = 0, progress.stationarity
        if residual is not None:
            small = self.tolerance * (progress.first or 0.0)
            if not residual <= small:  # nor where it is nan
                return False
            since = next(k for k, past in enumerate(progress.history["stationarity"]) if past <= small)
        return progress.iteration > 0 and (progress.iteration - since) % AGAIN == 0


@final
@frozen
class Tolerance(StopRule):
    """Stops at this relative error, where the problem has one, or at this relative stationarity."""

    tolerance: float = field(default=1e-6, validator=validate.number(at_least=0))

    def judge(self, progress: Progress) -> Verdict | None:
        verdict = RelativeError(self.tolerance).judge(progress) if "relative_error" in progress.metrics else None
        return verdict or Stationarity(self.tolerance).judge(progress)


@final
@frozen
class Plateau(StopRule):
    """Stops when the objective fell by at most ``tolerance`` of itself over ``patience`` iterations.

    It may not have risen much more in between: momentum raises it for a while, and then there is more to gain. Where
    rounding or a cycle never lets it stand still, the run stops once its least value over ten times as many iterations
    is no lower than over those before.
    """

    tolerance: float = field(default=1e-8, validator=validate.number(at_least=0))
    patience: int = field(default=10, validator=validate.whole(at_least=1))

    def judge(self, progress: Progress) -> Verdict | None:
        objectives = progress.history["objective"]
        size = abs(objectives[-1])
        small, recent = self.tolerance * size, objectives[-1 - self.patience :]
        fell, spread = recent[0] - recent[-1], max(recent) - min(recent)
        if len(recent) > self.patience and fell <= small and spread <= max(small, ROUNDING * size):
            told = f"fell by only {fell:.2e}" if fell > 0 else "did not fall"
            return Verdict(Status.PLATEAU, f"The objective {told} in {self.patience} iterations.")
        long = LONG * self.patience
        if len(objectives) >= 2 * long and min(objectives[-2 * long : -long]) - min(objectives[-long:]) <= small:
            return Verdict(Status.PLATEAU, f"The least objective has not fallen for {long} iterations.")
        return None


@final
@frozen
class HeldOut(StopRule):
    """Stops when the error on the entries held out has not fallen below its least for ``patience`` iterations.

    The result is the last Y. The Y of the least error lies ``patience`` iterations back, and is not kept: an observer
    that looks at ``state.metrics["held_out_error"]`` can do so.
    """

    patience: int = field(default=5, validator=validate.whole(at_least=1))

    def judge(self, progress: Progress) -> Verdict | None:
        if "held_out_error" not in progress.metrics:
            raise IncompatibleError(
                "The stop rule 'held-out' needs a problem some entries of which are held out, as with held_out=0.2; "
                "this has none."
            )
        errors = progress.history["held_out_error"]
        least = min((error for error in errors if not math.isnan(error)), default=math.nan)
        since = 0 if math.isnan(least) else len(errors) - 1 - errors.index(least)
        if since < self.patience:
            return None
        return Verdict(
            Status.PLATEAU,
            f"The held-out error has not fallen below {least:.4g}, that of iteration {progress.iteration - since}, for "
            f"{since} iterations; it is {errors[-1]:.4g}.",
        )


@final
@frozen
class Target(StopRule):
    """Stops when the objective is at most ``objective``."""

    objective: float = field(validator=validate.number())

    def judge(self, progress: Progress) -> Verdict | None:
        if progress.objective > self.objective:
            return None
        return Verdict(Status.TARGET, f"The objective is {progress.objective:.6g}, at or below {self.objective:.6g}.")


@final
@frozen
class NotFinite(StopRule):
    """Stops when the objective is no finite number; every run ends so, with or without this rule."""

    def judge(self, progress: Progress) -> Verdict | None:
        if math.isfinite(progress.objective):
            return None
        return Verdict(Status.NOT_FINITE, f"The objective became {progress.objective}.")
