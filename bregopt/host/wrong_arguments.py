"""What people call an argument elsewhere, and what it is called here."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

from bregopt.errors import IncompatibleError

SYNONYMS = {
    "rank": ("n_components", "components", "n_factors", "factors", "k", "r"),
    "max_iterations": ("max_iter", "maxiter", "n_iter", "niter", "iterations", "iters", "epochs"),
    "max_seconds": ("timeout", "time_limit", "max_time", "seconds"),
    "tolerance": ("tol", "eps", "rtol"),
    "progress": ("verbose", "disp", "display"),
    "seed": ("random_state", "rng", "random_seed"),
    "start": ("init", "x0", "Y0", "initial"),
    "observers": ("callback", "callbacks", "observer"),
    "starts": ("n_init", "restarts"),
    "processes": ("n_jobs", "jobs", "workers"),
}
"""Names of other libraries for what is taken."""
CUTOFF = 0.7
"""How near a name must be to be meant."""

P = ParamSpec("P")
R = TypeVar("R")


def meant(given: Iterable[str], taken: Iterable[str]) -> str:
    """A question about the first name that is not taken, where one is that it may stand for."""
    names = {name.lower(): name for name in taken}
    for name in given:
        if name in names.values():
            continue
        known = [it for it, others in SYNONYMS.items() if name in others and it in names]
        if close := known or difflib.get_close_matches(name.lower(), names, n=1, cutoff=CUTOFF):
            return f"Did you mean {names[close[0]]}? "
    return ""


def named(function: Callable[P, R], elsewhere: Sequence[str] = (), there: str = "") -> Callable[P, R]:
    """The function, which tells what a wrong argument is called; those named ``elsewhere`` are taken by ``there``."""
    signature = inspect.signature(function)
    taken = signature.parameters

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        wrong = [name for name in kwargs if name not in taken]
        if wrong and (wrong[0] in elsewhere or meant(wrong[:1], elsewhere)):
            raise IncompatibleError(f"{function.__name__} takes no {wrong[0]!r}: give it to {there}.")
        if wrong:
            hint = meant(wrong[:1], taken) or f"It takes {', '.join(taken)}."
            raise IncompatibleError(f"{function.__name__} takes no {wrong[0]!r}. {hint.rstrip()}")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            first = next(iter(taken))
            told = f"Write {function.__name__}({first}, name=value), with a name for all but the first."
            raise IncompatibleError(f"{function.__name__}: {error}. {told}") from None
        return function(*args, **kwargs)

    return call
