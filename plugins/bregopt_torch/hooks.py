"""A torch tensor is read where it lies, and ``bregopt solve`` has the option ``--device``.

torch is imported only where somebody has imported it already, or asks for a device.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from bregopt import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def bregopt_resolve_data(data: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(data, torch.Tensor):
        return None
    from bregopt_torch.load import TorchTensor

    return TorchTensor(data)


@hookimpl
def bregopt_commands(cli: "click.Group") -> None:
    import click

    text = "Run on a device by torch, as cuda, cuda:1, mps or cpu."
    solve: Any = cli.commands["solve"]
    solve.add_place(click.Option(["--device"], metavar="NAME", help=text), _device)


def _device(name: str, dashboard: bool) -> AbstractContextManager[Callable[[Any], Any]]:
    from bregopt_torch.devices import found, on_device

    found(name)  # refused before the data are read
    return nullcontext(lambda M: on_device(M, name))
