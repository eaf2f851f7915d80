"""A folder of compiled loops, damaged at random: every run gives the right answer, and mends the folder."""

import json
import random
import shutil

import pytest
from children import run

WORK = ("--json", "-r", 3, "--method", "aapb", "--max-iterations", 3)


def truncated(content, rng):
    return content[: rng.randrange(len(content))]


def garbage(content, rng):
    return rng.randbytes(len(content))


def bits_wrong(content, rng):
    changed = bytearray(content)
    for _ in range(20):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def empty(content, rng):
    return b""


@pytest.fixture(scope="module")
def good(large_file, tmp_path_factory):
    """A folder, and the answer."""
    folder = tmp_path_factory.mktemp("compiled")
    done = run("solve", large_file, *WORK, env={"NUMBA_CACHE_DIR": str(folder)})
    return folder, json.loads(done.out)["objective"]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [truncated, garbage, bits_wrong, empty])
def test_damage_is_survived_named_once_and_mended(damage, kind, good, large_file, tmp_path):
    folder, objective = good
    rng = random.Random(f"{damage.__name__} {kind}")
    bad = shutil.copytree(folder, tmp_path / "bad")
    for file in bad.rglob(f"*.{kind}"):
        file.write_bytes(damage(file.read_bytes(), rng))
    first, second = (run("solve", large_file, *WORK, env={"NUMBA_CACHE_DIR": str(bad)}) for _ in range(2))
    assert [json.loads(done.out)["objective"] for done in (first, second)] == [objective, objective]
    assert len(first.err.splitlines()) == 1
    assert first.err.startswith("bregopt: warning: Compiled loops cannot be read: ")
    assert second.err == ""
