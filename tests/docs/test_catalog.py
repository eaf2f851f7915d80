"""The catalogue page is what the registry says now."""

from pathlib import Path

import bregopt as bo
from bregopt.cli.plugins import catalog_page

PAGE = Path(__file__).parents[2] / "docs" / "catalog.md"


def test_the_catalogue_is_not_stale():
    assert PAGE.read_text(encoding="utf-8") == catalog_page(), "run: bregopt plugins --markdown > docs/catalog.md"


def test_the_catalogue_has_every_part_with_its_formula_and_the_papers_cases():
    text = PAGE.read_text(encoding="utf-8")
    for entry in bo.catalog():
        assert f"| `{entry.name}` | " in text
    for number in ("i", "ii", "iii", "iv", "v", "vi"):
        assert f"case ({number})" in text
