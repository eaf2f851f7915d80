"""The parameters of ``low-rank`` that every problem here passes on."""

from typing import Any, TypedDict, TypeVar

from bregopt import KernelPolicy
from bregopt.errors import ParameterError


class Options(TypedDict, total=False):
    """Which entries are known and what they weigh, the kernel, and how the products are made: as in ``low-rank``."""

    mask: Any
    weights: Any
    missing: str | None
    held_out: float
    held_out_seed: int
    kernel: KernelPolicy | str
    dtype: str
    threads: int | None


Given = TypeVar("Given", bound=Options)


def checked(options: Given, owner: str) -> Given:
    """The options, once it is seen that there are no others among them."""
    for name in options:
        if name not in Options.__annotations__:
            known = ", ".join(Options.__annotations__)
            raise ParameterError(
                f"The problem '{owner}' takes no '{name}'. Beside its own parameters it takes {known}."
            )
    return options
