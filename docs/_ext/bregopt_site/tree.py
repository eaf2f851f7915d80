"""The questions of docs/choose.md as pictures. The list on the page is the one description: it is read, and drawn.

A top branch is one picture of 380 units, which a phone shows in full width. A line with names behind a colon is an
answer; one with lines below it is a question that leads to more.
"""

import re
from collections.abc import Iterator
from html import escape

from attrs import Factory, define

MARKED = re.compile(r"<!-- tree: (\w+) -->\n(.*?)<!-- tree: end -->\n", re.DOTALL)
NAME = re.compile(r"`([\w-]+)`")
WIDTH, LINE, PAD, GAP, STEP = 380, 18, 9, 10, 22
ANSWERS, LETTER, PITCH = 216, 7.2, 30
"""Where the answers begin, how wide a letter is, and how far answers are apart."""


@define
class Node:
    """A line of the list: its text, the names that it leads to, and the lines below it."""

    text: str
    names: tuple[str, ...] = ()
    below: list["Node"] = Factory(list)

    def leaves(self) -> Iterator[str]:
        """Every name at or below it."""
        yield from self.names
        for node in self.below:
            yield from node.leaves()


def trees(page: str) -> dict[str, list[Node]]:
    """The lists of a page by the kind of part that they lead to."""
    return {kind: parsed(text) for kind, text in MARKED.findall(page)}


def parsed(text: str) -> list[Node]:
    """A nested list of Markdown as nodes."""
    top = Node("")
    path = [(-1, top)]
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        said = line.strip().removeprefix("- ")
        if not said:
            continue
        question, _, answer = said.partition(": `")
        node = Node(question, tuple(NAME.findall(f"`{answer}")) if answer else ())
        while path[-1][0] >= indent:
            path.pop()
        path[-1][1].below.append(node)
        path.append((indent, node))
    return top.below


def with_pictures(page: str) -> str:
    """The page as the site shows it: pictures first, and the list folded below them, with links."""
    return MARKED.sub(lambda found: _shown(found[1], found[2]), page)


def _shown(kind: str, text: str) -> str:
    drawn = "\n".join(picture(kind, node) for node in parsed(text))
    linked = NAME.sub(lambda name: f"[`{name[1]}`](reference/{kind}/{name[1]}.rst)", text)
    return f'<div class="trees">\n{drawn}\n</div>\n\n:::{{dropdown}} The same in words\n{linked}:::\n'


def picture(kind: str, node: Node) -> str:
    """One branch as SVG, with links."""
    pen = _Pen(kind)
    pen.head(node)
    for below in node.below:
        pen.question(below, 0)
    return pen.svg(f"Decision tree: {node.text}")


@define
class _Pen:
    kind: str
    y: float = 0.0
    marks: list[str] = Factory(list)

    def head(self, node: Node) -> None:
        lines = wrapped(node.text, WIDTH - 2 * PAD)
        height = len(lines) * LINE + 2 * PAD
        self.marks.append(f'<rect class="head" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height}" rx="6"/>')
        self._text(lines, PAD, PAD, "on-head")
        self.y = height
        if node.names:
            self.y += GAP
            self._answers(node.names, PAD, self.y)
            self.y += self._height(node.names)

    def question(self, node: Node, depth: int) -> None:
        x = 1 + depth * STEP
        right = WIDTH - 1 if node.below else ANSWERS - 18
        lines = wrapped(node.text, right - x - 2 * PAD)
        height = max(len(lines) * LINE + 2 * PAD, self._height(node.names))
        top = self.y + GAP
        stem = x + 10
        self.marks.append(f'<path class="line" d="M{stem} {self.y}V{top}"/>')
        shape = "group" if node.below else "ask"
        self.marks.append(f'<rect class="{shape}" x="{x}" y="{top}" width="{right - x}" height="{height}" rx="6"/>')
        self._text(lines, x + PAD, top + (height - len(lines) * LINE) / 2, "")
        if node.names:
            middle = top + height / 2
            self.marks.append(f'<path class="line" d="M{right} {middle}H{ANSWERS - 5}"/>')
            self.marks.append(f'<path class="tip" d="M{ANSWERS - 7} {middle - 4}l7 4l-7 4z"/>')
            self._answers(node.names, ANSWERS, top + (height - self._height(node.names)) / 2)
        self.y = top + height
        for below in node.below:
            self.question(below, depth + 1)
        if node.below:  # the way past them, to the next question
            self.marks.append(f'<path class="line" d="M{stem} {top + height}V{self.y}"/>')

    def _height(self, names: tuple[str, ...]) -> float:
        return len(names) * PITCH - (PITCH - LINE - 6) if names else 0

    def _answers(self, names: tuple[str, ...], x: float, y: float) -> None:
        for place, name in enumerate(names):
            top = y + place * PITCH
            wide = max(len(name) * 7.8 + 14, 60)
            self.marks.append(
                f'<a href="reference/{self.kind}/{name}.html"><rect class="answer" x="{x}" y="{top}" '
                f'width="{wide:.0f}" height="{LINE + 6}" rx="12"/>'
                f'<text class="name" x="{x + wide / 2:.1f}" y="{top + LINE - 1}">{name}</text></a>'
            )

    def _text(self, lines: list[str], x: float, y: float, style: str) -> None:
        for place, line in enumerate(lines):
            self.marks.append(f'<text class="{style}" x="{x}" y="{y + place * LINE + 14}">{escape(line)}</text>')

    def svg(self, label: str) -> str:
        return (
            f'<svg class="tree" role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {self.y + 2:.0f}" '
            f'xmlns="http://www.w3.org/2000/svg">{"".join(self.marks)}</svg>'
        )


def wrapped(text: str, width: float) -> list[str]:
    """The text in lines of a width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(longer) * LETTER > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
