"""What this plugin adds: the kind ``dataset``, the paper's data sets, and commands, imported only where they run."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bregopt import Registrar, hookimpl, make
from bregopt_paper.datasets import checks, generated, stored
from bregopt_paper.datasets.dataset import Dataset

if TYPE_CHECKING:
    import click

DATASETS: dict[str, Callable[..., Dataset]] = {
    "coil20": stored.coil20,
    "pie": stored.pie,
    "tdt2": stored.tdt2,
    "orl": stored.orl,
    "yaleb": stored.yaleb,
    "mnist": stored.mnist,
    "mnist-1000": stored.mnist_1000,
    "netz4504-dual": stored.netz4504_dual,
    "mycielskian": generated.mycielskian,
    "synthetic": generated.synthetic,
    "identity": generated.identity,
    "blocks": generated.blocks,
    "tiny-faces": generated.tiny_faces,
    "tiny-documents": generated.tiny_documents,
}
EXAMPLES = {
    "dataset": [
        "mycielskian(4)", "synthetic(30, 20, 3, seed=1)", "identity(5)", "blocks(10, 3)", "tiny-faces(seed=1)",
        "tiny-documents",
    ],
}  # fmt: skip
"""None of them needs a file."""


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.kind("dataset", Dataset, checks=checks.CHECKS)
    for name, dataset in DATASETS.items():
        registry.add(Dataset, name, dataset)


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    return [(spec, make(kind, spec)) for spec in EXAMPLES.get(kind, [])]


@hookimpl
def bregopt_commands(cli: "click.Group") -> None:
    from bregopt_paper.data_command import data
    from bregopt_paper.reproduce.command import reproduce

    cli.add_command(data)
    cli.add_command(reproduce)
