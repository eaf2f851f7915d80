"""``bregopt plugins``: who is in, and what they bring, as tables or as the page of the catalogue."""

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bregopt
from bregopt.parts.traits import Trait

if TYPE_CHECKING:
    from bregopt.host.registry import Entry

PIPED_WIDTH = 160
HEAD = """# Catalogue

Every part that bregopt comes with, by kind. This page is made by `bregopt plugins --markdown`; do not edit it.
A spec is the name with parameters: `l1(0.01)`, `l0-ball(3, per=row)`, `on-columns(l1(0.1), [0, 3])`. Upper case,
hyphens and underscores make no difference: `ElasticNet` is `elastic-net`.
"""


@click.command()
@click.option("--plugin", "files", type=click.Path(path_type=Path), multiple=True, help="Load this Python file too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print the catalogue of parts as a page of Markdown.")
def plugins(files: Sequence[Path], as_json: bool, markdown: bool) -> None:
    """List the plugins and the parts they provide.

    The names of the parts are what options such as -U, --kernel and --stop take. A plugin that fails is skipped, and
    listed with the reason. BREGOPT_BLOCK_PLUGINS=name,... keeps plugins out.
    """
    for file in files:
        bregopt.load_plugin(file)
    if markdown:
        click.echo(catalog_page(), nl=False)
        return
    found, parts = _plugins(), _parts()
    if as_json:
        click.echo(json.dumps({"plugins": found, "parts": parts}, indent=2))
        return
    why = {"why": "reason"} if any(plugin["reason"] for plugin in found) else {}
    who = {"plugin": "name", "provider": "provider", "version": "version", "status": "status", **why, "parts": "parts"}
    _print(found, who)
    shown = [{**part, "what": part["summary"] + _also(part["aliases"])} for part in parts]
    _print(shown, {"kind": "kind", "name": "name", "summary": "what", "plugin": "plugin"})


def _plugins() -> list[dict[str, Any]]:
    providers = [entry.provider for entry in bregopt.catalog()]
    return [
        {
            "name": plugin.name,
            "provider": plugin.provider,
            "version": plugin.version,
            "status": plugin.status,
            "reason": plugin.reason,
            "parts": providers.count(plugin.label),
        }
        for plugin in bregopt.plugins()
    ]


def _parts() -> list[dict[str, Any]]:
    owners = {plugin.label: plugin for plugin in bregopt.plugins()}
    return [
        {
            "kind": entry.kind,
            "name": entry.name,
            "aliases": list(entry.aliases),
            "summary": entry.summary.replace("``", ""),
            "plugin": owners[entry.provider].name,
            "provider": owners[entry.provider].provider,
        }
        for entry in bregopt.catalog()
    ]


def _also(aliases: Sequence[str]) -> str:
    """The other names of a part, after what it is."""
    return f" Also called {', '.join(aliases)}." if aliases else ""


def _print(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """A table with the given keys of the rows, each under its heading."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(str(row[key]) for key in columns.values()))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(markup=False, emoji=False, highlight=False, width=width).print(table)


def catalog_page() -> str:
    """The page: a table for each kind, with traits and the paper's case for regularizers."""
    from bregopt.host.compose import kinds

    return HEAD + "".join(_section(kind.name) for kind in kinds() if bregopt.catalog(kind.name))


def _section(kind: str) -> str:
    columns = ["name", "what it is", "parameters"] + ["traits", "paper"] * (kind == "regularizer")
    rows = [columns, ["---"] * len(columns), *(_row(entry, kind) for entry in bregopt.catalog(kind))]
    return f"\n## {kind}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(entry: "Entry", kind: str) -> list[str]:
    formula = re.sub(r"``(.*?)``", r"`\1`", entry.summary).replace("|", "\\|")
    also = _also([f"`{it}`" for it in entry.aliases])
    row = [f"`{entry.name}`", formula + also, ", ".join(_parameters(entry)) or "–"]
    if kind == "regularizer":
        row += [_traits(entry), getattr(entry.factory, "paper", "") or "–"]
    return row


def _traits(entry: "Entry") -> str:
    """Those of the class, or of an example where they depend on the parameters."""
    from bregopt.host.compose import examples

    if "H" in inspect.signature(entry.factory).parameters:
        return "those of H, where they stay"
    shown = [part for label, part in examples(entry.kind) if label.partition("(")[0] == entry.name]
    traits = next((t for t in (getattr(part, "traits", None) for part in [*shown, entry.factory])), Trait.NONE)
    return ", ".join(trait.name.lower().replace("_", " ") for trait in traits or () if trait.name) or "–"


def _parameters(entry: "Entry") -> Iterator[str]:
    for parameter in inspect.signature(entry.factory).parameters.values():
        yield f"`{_shown(parameter)}`"


def _shown(parameter: Any) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"{parameter.name}…"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
