"""The pages of the reference, written from the docstrings, the registry and the examples."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bregopt as bo
from bregopt.host.compose import examples as instances
from bregopt_site import examples, pictures, recipes
from bregopt_site.docstrings import escaped, markup

DOCS = Path(__file__).parents[2]
NOTATION = DOCS / "notation.md"
FORMULA = re.compile(r"(``[^`]+``(?:[^.:]|[.:](?=\S))*?)(?:[.:](?=\s)|\.?$|\n\n)")
"""The formula that begins a docstring, up to where its sentence pauses."""
MODULES = ("errors", "testing", "validate")
KINDS = {
    "problem": ("Problems", "what is minimised"),
    "regularizer": ("Regularizers", "H on one block: sparsity, signs, constraints"),
    "loss": ("Losses", "what a wrong entry costs"),
    "model": ("Models", "how the blocks make the data"),
    "method": ("Methods", "how it is minimised"),
    "kernel": ("Kernels", "the geometry of a Bregman step"),
    "extrapolation": ("Extrapolation rules", "how far ahead to look: β"),
    "step": ("Step rules", "how far to go: λ"),
    "stop": ("Stop rules", "when to end, and why"),
    "start": ("Starts", "where to begin"),
    "dataset": ("Data sets", "matrices to try things on"),
    "smooth": ("Smooth parts", "F by itself"),
}
"""The heading of a kind and what it is, in the order in which a reader may want them; others come last."""
IN_THE_GUIDE = {
    "problem": "problems", "loss": "losses", "method": "methods", "kernel": "concepts", "regularizer": "write-a-plugin",
}  # fmt: skip


def kinds() -> list[str]:
    """The kinds that have parts."""
    found = dict.fromkeys(entry.kind for entry in bo.catalog())
    return [kind for kind in KINDS if kind in found] + [kind for kind in found if kind not in KINDS]


def expected() -> dict[str, str]:
    """The page of each public name and of each part, by its label: ``compose`` or ``regularizer/l1``."""
    names = {label(package, name): f"reference/api/{label(package, name)}" for package, name in _names()}
    return names | {f"{entry.kind}/{entry.name}": f"reference/{entry.kind}/{entry.name}" for entry in bo.catalog()}


def _names() -> Iterator[tuple[str, str]]:
    for package, names in examples.public_names().items():
        yield from ((package, name) for name in names)


def label(package: str, name: str) -> str:
    """A name as a reader finds it: ``solve``, or ``bregopt_lowrank.Model`` for one of another package."""
    return name if package == "bregopt" else f"{package}.{name}"


def write(folder: Path, quick: bool) -> None:
    """Write every page of the reference into ``folder``, and delete those of names that are no longer there.

    A page that is the same stays untouched. In a ``quick`` reference nothing is run: no pictures of parts, and programs
    without what they print.
    """
    texts = {"index": index(), "api/index": api_index()}
    texts |= {f"api/{label(package, name)}": api_page(package, name, quick) for package, name in _names()}
    for kind in kinds():
        texts[f"{kind}/index"] = kind_index(kind)
        for entry in bo.catalog(kind):
            seen = None if quick else pictures.draw(entry, folder / kind / f"{entry.name}.svg")
            texts[f"{kind}/{entry.name}"] = part_page(entry, seen, quick)
    files = {folder / f"{page}.rst": text for page, text in texts.items()}
    for file, text in files.items():
        _put(file, text)
    for old in {*folder.rglob("*.rst")} - {*files}:
        old.unlink()


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def title(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * (2 * len(text))}\n\n"


def block(directive: str, body: str = "", **options: str) -> str:
    lines = [f".. {directive}", *(f"   :{name.replace('_', '-')}: {value}".rstrip() for name, value in options.items())]
    return "\n".join(lines) + "\n\n" + (textwrap.indent(body.strip("\n"), "   ") + "\n\n" if body else "")


def program(example: examples.Example, quick: bool) -> str:
    """An example, with what it prints unless the reference is ``quick``."""
    text = escaped(example.text) + "\n\n" if example.text else ""
    text += block("code-block:: python", example.code)
    return text if quick else text + block("code-block:: text", example.run(), **{"class": "output"})


def toctree(pages: Sequence[str]) -> str:
    return block("toctree::", "\n".join(pages), hidden="", maxdepth="1")


# ---------------------------------------------------------------------------------------------------------------------


def meanings() -> dict[str, dict[str, str]]:
    """The public names by the heading under which docs/notation.md lists them, each with its meaning."""
    part = NOTATION.read_text(encoding="utf-8").split("## Public names")[1]
    found: dict[str, dict[str, str]] = {}
    for chunk in re.split(r"\n\n(?=[A-Z][^|\n]*:\n)", part):
        heading, _, table = chunk.strip().partition(":\n")
        rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
        if rows:
            found[heading] = {name: meaning.replace("\\|", "|") for name, meaning in rows}
    return found


def api_page(package: str, name: str, quick: bool) -> str:
    """A public name: what it is, its interface from the docstring, and examples."""
    shown = label(package, name)
    target = f"{package}.{name}"
    found = getattr(__import__(package, fromlist=[name]), name)
    text = title(shown if package != "bregopt" else f"bo.{name}")
    kind = inspect.isclass(found) and found.__module__.startswith("bregopt")
    if name in MODULES and package == "bregopt":
        gathered = {"imported_members": ""} if hasattr(found, "__path__") else {}
        text += block(f"automodule:: {target}", members="", show_inheritance="", **gathered)
    elif kind:
        text += block(f"autoclass:: {target}", members="", show_inheritance="")
    elif inspect.isroutine(found):
        text += block(f"autofunction:: {target}")
    else:
        meaning = next((them[name] for them in meanings().values() if name in them), "")
        text += block(f"py:data:: {target}", escaped(f"{meaning[:1].upper()}{meaning[1:]}."))
    shows = examples.of_name(shown)
    if shows:
        text += title("Example" if len(shows) == 1 else "Examples", "-") + "".join(program(it, quick) for it in shows)
    return text


def api_index() -> str:
    """All public names, in groups."""
    text = ":html_theme.sidebar_secondary.remove:\n\n" + title("Public names")
    text += "Everything a user or a plugin author needs is a name of ``import bregopt as bo``. Each page has the "
    text += "signature, what it means, and an example that runs.\n\n"
    pages: list[str] = []
    for heading, names in meanings().items():
        there = {name: meaning for name, meaning in names.items() if name in bo.__all__}
        text += title(heading, "-") + _table([(f":doc:`{name} <{name}>`", escaped(it)) for name, it in there.items()])
        pages += there
    for package, names in examples.public_names().items():
        if package == "bregopt":
            continue
        text += title(package, "-")
        rows = []
        for name in names:
            doc = inspect.getdoc(getattr(__import__(package, fromlist=[name]), name)) or ""
            rows.append((f":doc:`{name} <{package}.{name}>`", _first(doc)))
        text += _table(rows)
        pages += [f"{package}.{name}" for name in names]
    return text + toctree(pages)


def _first(doc: str) -> str:
    line = " ".join(doc.split("\n\n")[0].split("\n")) if doc else ""
    return escaped(line.removesuffix("::").removesuffix(":"))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    lines = []
    for row in rows:
        for place, cell in enumerate(row):
            lines.append(("* - " if place == 0 else "  - ") + (cell or "–"))
    return block(
        "list-table::", "\n".join(lines), widths="25 75" if len(rows[0]) == 2 else "22 22 56", **{"class": "names"}
    )


# ---------------------------------------------------------------------------------------------------------------------


def part_page(entry: Any, seen: str | None, quick: bool) -> str:
    """A part: its formula, picture, parameters, traits, and an example."""
    text = title(entry.name)
    formula, rest = _formula(entry)
    if formula:
        text += block("container:: formula", f"``{formula}``")
    if rest:
        text += rest + "\n\n"
    if facts := _facts(entry):
        text += facts + "\n\n"
    if seen:
        text += block(f"figure:: {entry.name}.svg", escaped(seen), alt=seen.replace("\n", " "), width="100%")
    if rows := _parameters(entry):
        text += title("Parameters", "-") + rows
    shows = examples.of_part(entry)
    if shows:
        text += title("Example", "-") + "".join(program(it, quick) for it in shows)
    return text + _see(entry)


def _formula(entry: Any) -> tuple[str, str]:
    """The formula that begins a docstring, if it begins with one, and the rest as reStructuredText."""
    doc = (inspect.getdoc(entry.factory) or "").strip()
    found = FORMULA.match(doc)
    formula = " ".join(found[1].replace("``", "").split()) if found else ""
    rest = doc[found.end() :].strip() if found else doc
    if found and re.match(r"[a-z]{2}", rest):  # a word; a letter of the formula keeps its case
        rest = rest[0].upper() + rest[1:]
    rest = re.split(r"(?:^|\n)\w[\w ]*\n-{3,}\n", rest)[0].strip()
    return formula, "\n".join(markup(rest.splitlines()))


def _facts(entry: Any) -> str:
    """Traits and other names, in a line of marks."""
    marks = []
    if entry.kind == "regularizer":
        shown = [part for it, part in instances(entry.kind) if it.partition("(")[0] == entry.name]
        traits = next((t for t in (getattr(part, "traits", None) for part in [*shown, entry.factory])), None)
        if isinstance(traits, bo.Trait):
            marks += [it.name.lower().replace("_", " ") for it in traits if it.name]
            if bo.Trait.CONVEX not in traits:
                marks.insert(0, "not convex")
        paper = getattr(entry.factory, "paper", "")
        marks += [f"Proposition 2, {paper}"] if isinstance(paper, str) and paper else []
    if entry.kind == "loss":
        loss = bo.make("loss", recipes.spec(entry))
        marks += ["convex" if loss.convex else "not convex", f"curvature at most {loss.bound:.4g}"]
        zero = {"data": "a zero is data", "square": "a zero is data", "missing": "a zero of a sparse M is missing"}
        marks += [zero.get(str(loss.zero), "")]
    if entry.kind == "method":
        marks += [_family(entry)]
    line = " ".join(f":bdg-primary-line:`{mark}`" for mark in marks if mark)
    also = f"Also called {', '.join(f'``{it}``' for it in entry.aliases)}." if entry.aliases else ""
    return "\n\n".join(it for it in (line, also) if it)


def _family(entry: Any) -> str:
    module = entry.factory.__module__.split(".")
    return {
        "bregman": "Bregman proximal", "palm": "PALM", "blockwise": "block by block", "nmd": "of the NMD literature",
        "nmf": "of the NMF literature", "acceleration": "made of others", "newton": "second order",
    }.get(module[1] if len(module) > 1 else "", "")  # fmt: skip


def _parameters(entry: Any) -> str:
    doc = inspect.getdoc(entry.factory) or ""
    told = _told(doc)
    rows = [
        (f"``{name}``", f"``{default}``" if default else "–", told.get(name, ""))
        for name, default in recipes.parameters(entry)
    ]
    if not rows:
        return ""
    if any(text for *_, text in rows):
        return _table([("**name**", "**default**", "**meaning**"), *rows])
    return _table([("**name**", "**default**"), *((name, default) for name, default, _ in rows)])


def _told(doc: str) -> dict[str, str]:
    """What the section Parameters of a docstring says of each of them."""
    found = re.search(r"Parameters\n-{3,}\n(.*?)(?:\n\w[\w ]*\n-{3,}|\Z)", doc, re.DOTALL)
    told: dict[str, str] = {}
    for chunk in re.split(r"\n(?=\S)", found[1]) if found else []:
        head, _, body = chunk.partition("\n")
        names = [name.strip(" *") for name in head.partition(":")[0].split(",")]
        if names[0] == "kwargs" or head.startswith("**"):
            continue
        text = " ".join(escaped(textwrap.dedent(body)).split())
        told |= dict.fromkeys(names, text)
    return told


def _see(entry: Any) -> str:
    links = [f":doc:`all of its kind </reference/{entry.kind}/index>`"]
    if entry.kind in IN_THE_GUIDE:
        links.append(f":doc:`in the guide </{IN_THE_GUIDE[entry.kind]}>`")
    if source := _source(entry):
        links.append(f"defined in ``{source}``")
    return block("rst-class:: see-also") + f"See {', '.join(links)}.\n"


def _source(entry: Any) -> str:
    return f"{entry.factory.__module__.replace('.', '/')}.py"


def kind_index(kind: str) -> str:
    """The parts of a kind, with their formulas."""
    entries = bo.catalog(kind)
    heading, what = KINDS.get(kind, (kind.capitalize(), ""))
    text = title(heading) + f'{what[:1].upper()}{what[1:]}. ``bo.make("{kind}", …)`` makes one; its spec serves '
    text += "wherever one is taken.\n\n"
    text += _table([(f":doc:`{entry.name} <{entry.name}>`", _first(entry.summary)) for entry in entries])
    return text + toctree([entry.name for entry in entries])


def index() -> str:
    """The door of the reference."""
    text = title("Reference")
    text += "Every public name, and every part that comes with bregopt, has a page with an example that runs.\n\n"
    cards = block(
        f"grid-item-card:: Public names ({len(list(_names()))})",
        "Those of ``import bregopt as bo``, and of its packages",
        link="api/index",
        link_type="doc",
    )
    for kind in kinds():
        heading, what = KINDS.get(kind, (kind.capitalize(), ""))
        body = f"{what[:1].upper()}{what[1:]}"
        cards += block(
            f"grid-item-card:: {heading} ({len(bo.catalog(kind))})", body, link=f"{kind}/index", link_type="doc"
        )
    text += block("grid:: 1 2 3 3", cards, gutter="3")
    return text + toctree(["api/index", *(f"{kind}/index" for kind in kinds()), "/catalog", "/notation"])
