"""The pictures of README.md: there is code for each, and the first shows what the first snippet computes."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def draw():
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "pictures" / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_of_the_readme_is_drawn_by_the_code_and_no_other_is_kept(draw):
    shown = set(re.findall(r"\(docs/pictures/(\w+)\.png\)", README))
    assert shown == {"result", *(Path(name).name for name in draw.OF_EXAMPLES)}
    assert shown == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.png")}


def test_a_picture_of_an_example_leads_to_the_example(draw):
    for name in draw.OF_EXAMPLES:
        assert f"(docs/pictures/{Path(name).name}.png)](examples/{name}.py)" in README


def test_the_first_picture_shows_the_matrix_of_the_first_snippet(draw):
    lines = re.findall(r"^(?:angle|M) = .*$", README, re.MULTILINE)[:2]
    found = {"np": np}
    exec("\n".join(lines), found)
    np.testing.assert_array_equal(draw.near(), found["M"])


def test_the_first_picture_is_drawn_anew(draw, monkeypatch, tmp_path):
    monkeypatch.setattr(draw, "HERE", tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    draw.hero()
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
