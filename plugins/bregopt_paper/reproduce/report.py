"""The report: one HTML file that needs nothing else, and its tables and figures as files."""

import base64
import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, final

from attrs import field, frozen

from bregopt_paper.experiments.experiment import Figure, Section, Table, Task
from bregopt_paper.reproduce.records import write_whole

TITLE = "The experiments of the paper, run anew"
LEAD = (
    "Wang, Qu, Cui and Han, “An Accelerated Alternating Partial Bregman Algorithm for ReLU-based Matrix "
    "Decomposition”: what it printed, what comes out with its settings, and what comes out with bregopt’s own methods. "
    "What was found, and every sentence about it, is computed from the records of the runs."
)
QUICK = "This is a quick run on small generated data. It shows that everything works, and says nothing of the paper."
FOLDED = 40
"""Rows from which on a table is folded."""
WIDE = 40
"""Characters from which on a cell may be broken into lines."""
MANY = 9
"""Columns from which on a table is set tighter."""
DPI = 150
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "axes.edgecolor": "#8a8a8a",
    "legend.fontsize": 8.5,
    "svg.hashsalt": "bregopt",
    "svg.fonttype": "none",
}
MARKS = {"reached": "good", "yes": "good", "not reached": "bad", "no": "bad"}
"""Cells that are coloured."""


@final
@frozen(eq=False)
class Chapter:
    """An experiment as the report tells it."""

    name: str
    section: Section
    """its last paragraph says what was and what was not reproduced"""
    tasks: Sequence[Task]
    seconds: Mapping[str, float]
    """of the tasks that have a record"""
    lacking: Mapping[str, str] = field(factory=dict)
    """why other tasks have none"""


def write_report(folder: Path, chapters: Sequence[Chapter], facts: Mapping[str, str], quick: bool) -> list[str]:
    """Write everything; returns what could not be drawn."""
    faults: list[str] = []
    pictures: dict[str, bytes] = {}
    for chapter in chapters:
        for table in chapter.section.tables:
            _text(folder / "tables" / f"{table.name}.csv", _csv(table))
            _text(folder / "tables" / f"{table.name}.md", _markdown(table))
        for figure in chapter.section.figures:
            try:
                pictures[figure.name] = _draw(folder / "figures", figure)
            except Exception as error:  # one picture must not cost the report
                faults.append(f"The figure {figure.name} could not be drawn: {type(error).__name__}: {error}")
    _text(folder / "report.html", _page(chapters, pictures, facts, quick, faults))
    return faults


def _text(path: Path, text: str) -> None:
    write_whole(path, lambda handle: handle.write(text.encode()))


# ---- tables and figures as files


def _csv(table: Table) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.columns)
    rows.writerows(table.rows)
    return out.getvalue()


def _markdown(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *([_cell(value) for value in row] for row in table.rows)]
    return f"{table.caption}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw(folder: Path, figure: Figure) -> bytes:
    """The figure as PNG and SVG files; returns the PNG."""
    import matplotlib
    from matplotlib.figure import Figure as Picture

    with matplotlib.rc_context(STYLE):
        picture = Picture(figure.size, layout="constrained")
        figure.draw(picture)
        made: dict[str, bytes] = {}
        for kind in ("png", "svg"):
            out = io.BytesIO()
            picture.savefig(out, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
            made[kind] = out.getvalue()
            write_whole(folder / f"{figure.name}.{kind}", _writer(made[kind]))
    return made["png"]


def _writer(data: bytes) -> Callable[[Any], object]:
    return lambda handle: handle.write(data)


# ---- the page


def _page(
    chapters: Sequence[Chapter], pictures: Mapping[str, bytes], facts: Mapping[str, str], quick: bool, faults: list[str]
) -> str:
    template = Template(resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=TITLE,
        lead=_inline(LEAD) + (f"<br><b>{_inline(QUICK)}</b>" if quick else ""),
        contents="".join(f'<a href="#{it.name}">{_inline(it.section.title)}</a>' for it in chapters)
        + '<a href="#how">How it was made</a>',
        summary="\n".join(f"<li>{_short(chapter)}</li>" for chapter in chapters),
        lacking=_lacking(chapters, faults),
        chapters="\n".join(_chapter(chapter, pictures) for chapter in chapters),
        how=_how(chapters, facts),
    )


def _inline(text: str) -> str:
    """Escaped, with `code` and **bold**."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)


def _short(chapter: Chapter) -> str:
    """The last paragraph of a section, under its title."""
    text = re.sub(r"^\*\*[^*]+\*\*\s*", "", chapter.section.text[-1]) if chapter.section.text else ""
    return f'<a href="#{chapter.name}"><b>{_inline(chapter.section.title)}</b></a>. {_inline(text)}'


def _lacking(chapters: Sequence[Chapter], faults: Iterable[str]) -> str:
    """What is missing in this report, and why: reasons first, as one reason often explains many tasks."""
    reasons: dict[str, list[str]] = {}
    for chapter in chapters:
        for task in chapter.tasks:
            if task.name not in chapter.seconds:
                why = chapter.lacking.get(task.name, "Not run yet; give the command again to go on.")
                reasons.setdefault(why, []).append(task.name)
    items = [f"{_inline(why)} <span class='lead'>({_names(names)})</span>" for why, names in reasons.items()]
    items += [_inline(fault) for fault in faults]
    if not items:
        return ""
    return f'<div class="lacking"><p><b>What is missing here</b></p><ul><li>{"</li><li>".join(items)}</li></ul></div>'


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return html.escape(shown if len(names) <= 3 else f"{len(names)} tasks, the first ones are {shown}")


def _chapter(chapter: Chapter, pictures: Mapping[str, bytes]) -> str:
    section = chapter.section
    *told, verdict = section.text or ("",)
    parts = [f'<h2 id="{chapter.name}">{_inline(section.title)}</h2>']
    parts += [f"<p>{_inline(text)}</p>" for text in told]
    parts += [f'<div class="verdict"><p>{_inline(verdict)}</p></div>']
    parts += [_table(table) for table in section.tables]
    parts += [_figure(figure, pictures[figure.name]) for figure in section.figures if figure.name in pictures]
    return "\n".join(parts)


def _table(table: Table) -> str:
    text = [any(isinstance(row[k], str) for row in table.rows) for k in range(len(table.columns))]
    head = "".join(
        f"<th{_kind(is_text)}>{_inline(name)}</th>" for name, is_text in zip(table.columns, text, strict=True)
    )
    body = "\n".join(
        f"<tr>{''.join(_data(value, is_text) for value, is_text in zip(row, text, strict=True))}</tr>"
        for row in table.rows
    )
    tight = ' class="tight"' if len(table.columns) > MANY else ""
    inner = f"<div><table{tight}><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    if len(table.rows) > FOLDED:
        inner = f"<details><summary>{len(table.rows)} rows</summary>{inner}</details>"
    return f"<figure><figcaption>{_inline(table.caption)}</figcaption>{inner}</figure>"


def _kind(is_text: bool) -> str:
    return ' class="text"' if is_text else ""


def _data(value: Any, is_text: bool) -> str:
    shown = _cell(value)
    names = ["text"] * is_text + ["wide"] * (len(shown) > WIDE) + ([MARKS[shown]] if shown in MARKS else [])
    return f'<td class="{" ".join(names)}">{_inline(shown)}</td>' if names else f"<td>{_inline(shown)}</td>"


def _figure(figure: Figure, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    words = html.escape(re.sub(r"[`*]", "", figure.caption), quote=True)
    return (
        f"<figure><figcaption>{_inline(figure.caption)}</figcaption>"
        f'<div><img alt="{words}" src="data:image/png;base64,{data}"></div></figure>'
    )


def _how(chapters: Sequence[Chapter], facts: Mapping[str, str]) -> str:
    """Settings, versions, seeds and machine; then every task."""
    rows = [
        (task.name, round(chapter.seconds[task.name], 2) if task.name in chapter.seconds else None, _settings(task))
        for chapter in chapters
        for task in chapter.tasks
    ]
    every = Table("tasks", "Every task, its seconds and its settings.", ("task", "seconds", "settings"), tuple(rows))
    return _table(Table("facts", "", ("what", ""), tuple(facts.items()))) + _table(every)


def _settings(task: Task) -> str:
    return json.dumps(dict(task.settings), ensure_ascii=False, default=str)
