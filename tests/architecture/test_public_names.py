"""Every public name is explained in the one table of letters and names."""

import re
from pathlib import Path

import bregopt as bo

PAGE = Path(__file__).parents[2] / "docs" / "notation.md"


def test_every_public_name_has_a_line_in_the_notation():
    table = PAGE.read_text(encoding="utf-8").split("## Public names")[1]
    explained = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    missing = sorted(set(bo.__all__) - set(explained))
    assert not missing, f"docs/notation.md has no line for {', '.join(missing)}"
    gone = sorted(set(explained) - set(bo.__all__))
    assert not gone, f"docs/notation.md explains {', '.join(gone)}, which bregopt does not have"
