"""The Sphinx extension of the site: pages of the reference, docstrings, links to files, the drawn trees."""

from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls."""
    from bregopt_site import build

    return build.connect(app)
