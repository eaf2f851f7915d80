"""What the extension does while Sphinx builds."""

import os
from pathlib import Path
from typing import Any

from bregopt_site import docstrings, links, pages

SMALL = bool(os.environ.get("BREGOPT_DOCS_SMALL"))
"""Whether the gallery is listed and not run, for a quick build."""


def connect(app: Any) -> dict[str, bool]:
    """Connect every hook."""
    app.connect("builder-inited", _write)
    app.connect("autodoc-process-docstring", docstrings.process, priority=400)
    app.connect("doctree-read", links.exact)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Any) -> None:
    pages.write(Path(app.srcdir) / "reference", SMALL)
