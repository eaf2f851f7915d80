"""What the extension does while Sphinx builds."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from bregopt_site import docstrings, links, pages, pictures, tree

TO_THE_GALLERY = (
    "- [The gallery](gallery/index.rst): what a decomposition does for pictures, words, clicks, tables, graphs"
)


def connect(app: Any) -> dict[str, bool]:
    """Connect every hook."""
    app.connect("builder-inited", _forget_another_form, priority=0)
    app.connect("builder-inited", _write)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
    app.connect("doctree-read", links.exact)
    app.connect("doctree-read", _wrap_sentences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _forget_another_form(app: Any) -> None:
    """Sphinx-gallery runs no example again that is unchanged: what another form has shown is deleted."""
    gallery, form = Path(app.srcdir) / "gallery", os.environ.get("BREGOPT_DOCS", "full")
    kept = gallery / "form"
    if not kept.exists() or kept.read_text(encoding="utf-8") != form:
        shutil.rmtree(gallery, ignore_errors=True)
    gallery.mkdir(exist_ok=True)
    kept.write_text(form, encoding="utf-8")


def _write(app: Any) -> None:
    folder = Path(app.srcdir) / "reference"
    pages.write(folder, quick=os.environ.get("BREGOPT_DOCS") == "quick")
    pictures.home(folder / "home.svg")


def _read(app: Any, page: str, source: list[str]) -> None:
    if page == "index" and "sphinx_gallery.gen_gallery" in app.extensions:
        source[0] = source[0].replace(
            "Reference <reference/index>", "Gallery <gallery/index>\nReference <reference/index>"
        )
        source[0] = source[0].replace("- [The guide](guide.md)", f"{TO_THE_GALLERY}\n- [The guide](guide.md)")
    elif page == "choose":
        source[0] = tree.with_pictures(source[0])
    elif page == "catalog":
        source[0] = links.to_parts(source[0])
    elif page == "changelog":
        text = (Path(app.srcdir).parent / "CHANGELOG.md").read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\(docs/", "](", text)


def _wrap_sentences(app: Any, doctree: Any) -> None:
    """What a snippet printed is wrapped to the width of the screen where it is sentences and not a table."""
    from docutils.nodes import literal_block

    for node in doctree.findall(literal_block):
        if node.get("language") == "text" and "  " not in node.astext():
            node["classes"].append("output")
