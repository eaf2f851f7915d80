"""The catalogue of everything registered, as a page of Markdown."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from bregopt.host.compose import catalog, examples, kinds
from bregopt.host.registry import Entry
from bregopt.parts.traits import Trait

HEAD = """# Catalogue

Every part that bregopt comes with, by kind. This page is made by `bregopt plugins --markdown`; do not edit it.
A spec is the name with parameters: `l1(0.01)`, `l0-ball(3, per=row)`.
"""


def catalog_page() -> str:
    """The page: a table for each kind, with traits and the paper's case for regularizers."""
    return HEAD + "".join(_section(kind) for kind in (it.name for it in kinds()) if catalog(kind))


def _section(kind: str) -> str:
    columns = ["name", "what it is", "parameters"] + ["traits", "paper"] * (kind == "regularizer")
    rows = [columns, ["---"] * len(columns), *(_row(entry, kind) for entry in catalog(kind))]
    return f"\n## {kind}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(entry: Entry, kind: str) -> list[str]:
    formula = re.sub(r"``(.*?)``", r"`\1`", entry.summary).replace("|", "\\|")
    row = [f"`{entry.name}`", formula, ", ".join(_parameters(entry)) or "–"]
    if kind == "regularizer":
        row += [_traits(entry), getattr(entry.factory, "paper", "") or "–"]
    return row


def _traits(entry: Entry) -> str:
    """Those of the class, or of an example where they depend on the parameters."""
    if "H" in inspect.signature(entry.factory).parameters:
        return "those of H, where they stay"
    shown = [part for label, part in examples(entry.kind) if label.partition("(")[0] == entry.name]
    traits = next((t for t in (getattr(part, "traits", None) for part in [*shown, entry.factory])), Trait.NONE)
    return ", ".join(trait.name.lower().replace("_", " ") for trait in traits or () if trait.name) or "–"


def _parameters(entry: Entry) -> Iterator[str]:
    for parameter in inspect.signature(entry.factory).parameters.values():
        yield f"`{_shown(parameter)}`"


def _shown(parameter: Any) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"{parameter.name}…"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
