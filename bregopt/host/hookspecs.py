"""The hooks a plugin may implement, in the entry-point group ``bregopt``."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import Kernel
from bregopt.parts.oracle import Oracle
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Separable
from bregopt.parts.smooth import SmoothPart

if TYPE_CHECKING:
    import click

    from bregopt.host.registry import Registrar

GROUP = "bregopt"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def bregopt_register(registry: "Registrar") -> None:
    """Add parts by name: ``registry.add(Regularizer, "l1", L1)``.

    ``registry.kind("loss", EntrywiseLoss)`` declares a new kind of part.
    """


@hookspec(firstresult=True)
def bregopt_resolve_prox(kernel: Kernel, regularizer: Separable) -> BregmanProx | None:
    """The Bregman proximal map of H for the kernel's family, or ``None``; the first answer wins."""


@hookspec(firstresult=True)
def bregopt_resolve_oracle(smooth: SmoothPart, block: ClosedFormBlock) -> Oracle | None:
    """A special oracle for this pair, or ``None``; the first answer wins, else the plain oracle is taken."""


@hookspec(firstresult=True)
def bregopt_resolve_data(data: Any) -> Any:
    """What a problem is to read in place of these data, such as a matrix on a cluster, or ``None``; the first wins."""


@hookspec
def bregopt_commands(cli: "click.Group") -> None:
    """Add commands to ``bregopt``, or options to those that take them: ``cli.add_command(bench)``."""


@hookspec
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]] | None:
    """Small instances of the parts of this kind, each with a label: what the conformance kit and the catalogue use.

    For the kind ``problem`` an instance is a pair ``(Problem, Y)``: its smooth part and its block are checked at Y.
    """


@hookspec
def bregopt_warm_up() -> Sequence[tuple[str, Callable[[], object]]] | None:
    """Short runs, each with a label, that meet the loops a plugin compiles: ``bregopt warm-up`` makes them."""
