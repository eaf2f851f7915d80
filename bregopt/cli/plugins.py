"""``bregopt plugins``: who is in, and what they bring."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import bregopt

PIPED_WIDTH = 160


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
        from bregopt.cli.catalog import catalog_page

        click.echo(catalog_page(), nl=False)
        return
    found, parts = _plugins(), _parts()
    if as_json:
        click.echo(json.dumps({"plugins": found, "parts": parts}, indent=2))
        return
    why = {"why": "reason"} if any(plugin["reason"] for plugin in found) else {}
    who = {"plugin": "name", "provider": "provider", "version": "version", "status": "status", **why, "parts": "parts"}
    _print(found, who)
    _print(parts, {"kind": "kind", "name": "name", "summary": "summary", "plugin": "plugin"})


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
            "summary": entry.summary.replace("``", ""),
            "plugin": owners[entry.provider].name,
            "provider": owners[entry.provider].provider,
        }
        for entry in bregopt.catalog()
    ]


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
