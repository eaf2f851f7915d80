"""What the extension does while Sphinx builds."""

import re
from pathlib import Path
from typing import Any

from bregopt_site import docstrings, links, pages, pictures, tree


def connect(app: Any) -> dict[str, bool]:
    """Connect every hook."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
    app.connect("doctree-read", links.exact)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Any) -> None:
    folder = Path(app.srcdir) / "reference"
    pages.write(folder)
    pictures.home(folder / "home.svg")


def _read(app: Any, page: str, source: list[str]) -> None:
    if page == "choose":
        source[0] = tree.with_pictures(source[0])
    elif page == "catalog":
        source[0] = links.to_parts(source[0])
    elif page == "changelog":
        text = (Path(app.srcdir).parent / "CHANGELOG.md").read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\(docs/", "](", text)
