"""A page about a result: one HTML file that needs no network, with a caption below every picture."""

import json
import platform
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

import bregopt
from bregopt.engine.checkpoint import write_file
from bregopt.engine.result import Result
from bregopt.errors import FileError, IncompatibleError
from bregopt.host.resume import load
from bregopt.parts.data_model import percent
from bregopt.reports.blocks import TILES, heat_map, line, pictures
from bregopt.reports.components import Component, components, is_product
from bregopt.reports.curves import curves, errors_of
from bregopt.reports.drawing import Figure, check_file, data_uri
from bregopt.reports.style import STYLE

RECORD = "run.json"
"""What ``bregopt solve --out`` writes beside the factors."""
ANSWERED = ("Answer", "Certificate", "Notes")
"""Rows of a summary that the page tells elsewhere."""
LARGE = 2**22
"""Entries of a block from which on it is not drawn."""
LISTED = 30
"""Components that the table lists."""
LONGEST = 40
"""Characters of a name that it shows."""
REBUILT = 16
"""Pictures of the data that are shown as the result rebuilds them."""


def report(
    result: Result | str | Path, path: str | Path = "report.html", *, settings: Mapping[str, str] | None = None
) -> Path:
    """Write a page about a result: the answer, the curves, the factors, the certificate, the settings.

    Parameters
    ----------
    result : Result, str or Path
        A result, a file of ``result.save``, or the folder of ``bregopt solve --out``.
    path : str or Path
        The file to write. It is one HTML file, with the pictures in it, and needs no network.
    settings : mapping, optional
        What else is to be told of the run, by labels; of a folder it is what ``bregopt solve`` was given.

    Returns
    -------
    Path
        The file.
    """
    file = Path(path)
    check_file(file, (".html", ".htm"))
    found, title, versions = result, "", _versions()
    if isinstance(result, (str, Path)):
        found, title = load(result), Path(result).absolute().name
        record = read_record(Path(result))
        settings = {**record.get("summary", {}), **(settings or {})}
        versions = record.get("versions", versions)
    if not isinstance(found, Result):
        raise IncompatibleError(f"A report is about a Result, or the path of one. Got a {type(result).__name__}.")
    text = page(found, settings or {}, versions, title)
    write_file(file, lambda handle: handle.write(text.encode()))
    return file


def read_record(folder: Path) -> dict[str, Any]:
    """What ``bregopt solve`` wrote about a run; empty for a file, or a folder without a record."""
    path = folder / RECORD
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {**record, "summary": {str(label): str(text) for label, text in record["summary"].items()}}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise FileError(f"The record {str(path)!r} is damaged: {error!r}.") from None


def _versions() -> dict[str, str]:
    return {"bregopt": bregopt.__version__, "python": platform.python_version(), "numpy": np.__version__}


def page(result: Result, settings: Mapping[str, str], versions: Mapping[str, str], title: str = "") -> str:
    """The whole page."""
    name = f"{result.problem[:1].upper()}{result.problem[1:]}" + (f": {title}" if title else "")
    sections = [
        f"<h1>{escape(name)}</h1><p class=answer>{escape(result.answer)}</p>",
        f"<p>{escape(result.certificate.plain())}</p>",
        _section("How the run went", _course(result)),
        _section("What the components are made of", _components(result)),
        _section("The factors", _blocks(result)),
        _section("The data as the result rebuilds them", _rebuilt(result)),
        _section("The certificate", _certificate(result)),
        _section("The settings", _table(_settings(result, settings))),
        _section("The versions", _table(versions)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(name)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(filter(None, sections))
        + "\n</body></html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _figure(made: Figure, caption: str, kind: str = "png") -> str:
    told = escape(caption)
    return f'<figure><img src="{data_uri(made, kind)}" alt="{told}"><figcaption>{told}</figcaption></figure>'


def _table(rows: Mapping[str, str]) -> str:
    lines = (
        f"<tr><th>{escape(str(label))}</th><td>{'<br>'.join(map(escape, str(text).splitlines()))}</td></tr>"
        for label, text in rows.items()
    )
    return f"<table>{''.join(lines)}</table>"


# ---- the sections


def _course(result: Result) -> str:
    caption = (
        "Left: the objective, the number that the run makes as small as it can, after each iteration. A curve that is "
        "flat at its end says that more iterations would change little."
    )
    names = [name.replace("_", " ") for name in errors_of(result)]
    if names:
        caption += f" Right: the {' and the '.join(names)}, by which the fit is judged; 0 would be perfect."
    work = f"{result.iterations} iterations in {result.seconds:.2f} seconds. Why it ended: {result.reason}"
    return f"<p>{escape(work)}</p>" + _figure(curves({"": result}), caption, "svg")


def _components(result: Result) -> str:
    """A table, where rows or columns of the data have names."""
    found = components(result.Y, result.labels)
    if not any(it.columns or it.rows for it in found):
        return ""
    shown = found[:LISTED]
    both = {"columns": any(it.columns for it in found), "rows": any(it.rows for it in found)}
    heads = [f"Strongest {side}" for side, there in both.items() if there]
    lines = "".join(_component(it, [side for side, there in both.items() if there], found[0].share) for it in shown)
    head = "".join(f"<th>{text}</th>" for text in ("Component", "Share", *heads))
    which = "" if len(shown) == len(found) else f"These are the {len(shown)} largest of {len(found)}. "
    caption = (
        f"Each component is a pattern that was found in the data. {which}Its share says how large it is beside the "
        "others. The names are those of the data in which it is strongest. The number beside a name is its weight: 1 "
        "for the strongest, and negative where the pattern is subtracted."
    )
    return f"<table class=wide><tr>{head}</tr>{lines}</table><p class=caption>{caption}</p>"


def _component(it: Component, sides: list[str], largest: float) -> str:
    names = "".join(f'<td title="Strongest {side}">{_weights(getattr(it, side))}</td>' for side in sides)
    bar = f'<span class=bar style="width:{60 * it.share / (largest or 1.0):.1f}px"></span> {percent(it.share)}'
    return f'<tr><td title="Component">{it.number}</td><td title="Share">{bar}</td>{names}</tr>'


def _weights(pairs: tuple[tuple[str, float], ...]) -> str:
    shown = (f"{escape(name[:LONGEST])} <small>{f'{value:.2f}'.replace('-', '−')}</small>" for name, value in pairs)
    return ", ".join(shown) or "none: it is zero everywhere"


def _blocks(result: Result) -> str:
    return "".join(_block(result, name) for name in result.Y.names)


def _block(result: Result, name: str) -> str:
    X, labels = result.Y[name], result.labels
    size = f"{name}, {'×'.join(map(str, X.shape))}"
    zeros = f" {percent(result.sparsity[name])} of its entries are exactly zero." if result.sparsity[name] else ""
    if not 0 < X.size <= LARGE or X.ndim > 2:
        return f"<p>{escape(size)}: not drawn, for its size.{zeros}</p>"
    if X.ndim == 1:
        return _figure(line(X), f"{size}: its entries in their order.{zeros}")
    shape = None if labels is None else labels.picture_shape
    if shape is not None and X.shape[1] == shape[0] * shape[1] and name != "U":
        return _figure(*_picture_block(result, name, size, shape, zeros))
    rows, columns = (None if labels is None else labels.of_block(name, X.shape)) or (None, None)
    beside, above, told = _meaning(result, name)
    if is_product(result.Y) and name in ("U", "V"):
        largest = np.abs(X).max(axis=0 if name == "U" else 1, keepdims=True)
        X = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
        told += "A component has its own scale, in which its largest entry is 1. "
    caption = f"{size}. {told}White is zero, the darker the larger; blue is positive"
    caption += f", red is negative.{zeros}" if (X < 0).any() else f".{zeros}"
    return _figure(heat_map(X, rows, columns, beside, above), caption)


def _picture_block(result: Result, name: str, size: str, shape: tuple[int, int], zeros: str) -> tuple[Figure, str]:
    """The rows of a block that are pictures, the largest component first."""
    X = result.Y[name]
    order = [it.number for it in components(result.Y, None)] or list(range(1, len(X) + 1))
    shown = order[:TILES]
    made = pictures(X[[k - 1 for k in shown]], shape, [f"component {k}" for k in shown])
    which = "the components" if len(shown) == len(order) else f"the {len(shown)} largest of {len(order)} components"
    caption = (
        f"{size}: {which} as pictures of {shape[0]}×{shape[1]} points. "
        "Every picture of the data is put together from these, each with a weight of its own. Bright is large, dark is "
        f"small, in each picture by itself.{zeros}"
    )
    return made, caption


def _meaning(result: Result, name: str) -> tuple[str, str, str]:
    """What stands beside and below the heat map of a block, and what it means."""
    if is_product(result.Y) and name == "U":
        told = "Each line is a row of the data: it says how much of each component that row has. "
        return "rows of the data", "component", told
    if is_product(result.Y) and name == "V":
        told = "Each line is a component: it says what the component looks like in each column of the data. "
        return "component", "columns of the data", told
    return "row", "column", f"The block {name} as it stands. "


def _rebuilt(result: Result) -> str:
    """The first pictures of the data, where they are pictures."""
    shape = None if result.labels is None else result.labels.picture_shape
    model = result.data_model
    if shape is None or model is None or len(model.shape) != 2 or model.shape[1] != shape[0] * shape[1]:
        return ""
    X = result.reconstruct().rows(slice(0, REBUILT))
    names = (result.labels.rows if result.labels is not None else None) or ()
    titles = [names[k] if k < len(names) else f"row {k + 1}" for k in range(len(X))]
    caption = (
        f"The first {len(X)} pictures of the data as {model.formula} rebuilds them from the factors. The closer they "
        "are to the pictures that went in, the better the fit."
    )
    return _figure(pictures(X, shape, [title[-16:] for title in titles]), caption)


def _certificate(result: Result) -> str:
    lines = evolve(result.certificate, notes=()).summary().splitlines()
    told = "".join(f"<p>{escape(text)}</p>" for text in lines)
    rows = {it.statement: it.finding.value for it in result.certificate.assumptions.values()}
    intro = "<p>What is known for sure about this run. Φ is the objective, and Y^k the factors after k iterations.</p>"
    assumed = "<p>What the theorem assumes, and what was seen of it:</p>" + _table(rows) if rows else ""
    return intro + told + assumed


def _settings(result: Result, settings: Mapping[str, str]) -> dict[str, str]:
    own = {"Problem": result.problem, "Method": repr(result.method), "Objective": f"{result.objective:.8g}"}
    blocks = {f"Block {name}": "×".join(map(str, result.Y[name].shape)) for name in result.Y.names}
    given = {label: text for label, text in settings.items() if label not in ANSWERED}
    work = {"Method at work": own["Method"]} if "Method" in given else {}
    notes = {"Notes": "\n".join(result.notes)} if result.notes else {}
    return {**own, **blocks, **work, **given, **notes}
