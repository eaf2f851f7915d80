"""Docstrings of plain sentences, made safe for reStructuredText: only what is meant as markup is left as such."""

import re

LITERAL = re.compile(r"(``.*?``|`[^`]+`)", re.DOTALL)
UNDERLINE = re.compile(r"^\s*-{3,}\s*$")
PARAMETER = re.compile(r"^[\w*, ]+ : ")


def escaped(text: str) -> str:
    """``text`` with every mark escaped that is none of markup: ``|A|``, ``x_``, ``*``; `` `word` `` becomes code."""
    pieces = LITERAL.split(text)
    return "".join(_literal(it) if place % 2 else _plain(it) for place, it in enumerate(pieces))


def _literal(piece: str) -> str:
    inner = piece.strip("`")
    return f"``{' '.join(inner.split())}``"


def _plain(piece: str) -> str:
    piece = re.sub(r"([\\*|])", r"\\\1", piece)
    return re.sub(r"(\w)_(?=\W|$)", r"\1\\_", piece)


def markup(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText; literal blocks and the heads of NumPy sections stay as they are."""
    found: list[str] = []
    paragraph: list[str] = []
    deep: int | None = None  # the indent of the line that began a literal block

    def flush() -> None:
        if any(_drawn(line) for line in paragraph):
            found.extend(["::", "", *(f"    {line}" for line in paragraph)])
        elif paragraph:
            found.extend(escaped("\n".join(paragraph)).split("\n"))
        paragraph.clear()

    for line in lines:
        indent = len(line) - len(line.lstrip())
        if deep is not None and (not line.strip() or indent > deep):
            found.append(line)
            continue
        deep = None
        if not line.strip() or UNDERLINE.match(line) or PARAMETER.match(line):
            flush()
            found.append(line)
        else:
            paragraph.append(line)
            if line.rstrip().endswith("::"):
                flush()
                deep = indent
    flush()
    return found


def _drawn(line: str) -> bool:
    """Whether a line is part of a tree that is drawn with characters."""
    return bool(re.match(r"^\s*[├└│]", line))


def process(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """The hook of autodoc, called before the sections are read."""
    lines[:] = markup(lines)
    if what in ("attribute", "property", "data"):
        lines.insert(0, "\\ ")  # else the words before the first colon are read as a type
