"""What bregopt_lowrank and the compiled loops must not know."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "bregopt").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
LOWRANK = [path for path in FILES if "bregopt_lowrank" in path.parts]
RELU = re.compile(r"relu|(max|min)\(0, [xuw]\)|\bm(\[\w+\])? > 0", re.IGNORECASE)


def test_numba_is_imported_in_two_places():
    importers = [
        path.name for path in FILES if re.search(r"^\s*(import|from) numba\b", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert importers == ["compile_cache.py", "compiled.py"]


@pytest.mark.parametrize("path", LOWRANK, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_low_rank_does_not_know_relu(path):
    found = RELU.findall(path.read_text("utf-8"))
    assert not found, f"{path} knows of ReLU: {found}"
