"""Links that lead to the right place on the site and in the repository alike."""

import re
import unicodedata
from typing import Any

import bregopt as bo

KEPT = ("L", "M", "Nd", "Pc")
"""The classes of characters that stay in an anchor: letters, marks, digits, underscores."""


def slug(heading: str) -> str:
    """The anchor of a heading, as the repository's own pages have it."""
    kept = (it for it in heading.lower() if unicodedata.category(it).startswith(KEPT) or it in "- ")
    return "".join(kept).replace(" ", "-")


def exact(app: Any, doctree: Any) -> None:
    """Words in the type of a parameter lead to a public name of just this name, or nowhere."""
    from sphinx.addnodes import pending_xref

    for node in list(doctree.findall(pending_xref)):
        if node.get("refdomain") != "py" or not node.get("refspecific"):
            continue
        if node["reftarget"] in bo.__all__:
            node["reftarget"], node["refspecific"] = f"bregopt.{node['reftarget']}", False
        else:
            node.replace_self(node.children)


def to_parts(page: str) -> str:
    """The catalogue with a link from the name of each part to its page."""
    heading, lines = "", []
    for line in page.splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        lines.append(re.sub(r"^\| `([\w-]+)` \|", rf"| [`\1`](reference/{heading}/\1.rst) |", line))
    return "\n".join(lines) + "\n"
