"""Damaged files and specs by the thousand: ``python -m pytest -m fuzz``; a few of them in every run.

``BREGOPT_FUZZ_SEED`` and ``BREGOPT_FUZZ_COUNT`` give another seed, and another number of files of each type.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SEED = os.environ.get("BREGOPT_FUZZ_SEED", "0")
FILES = os.environ.get("BREGOPT_FUZZ_COUNT", "2000")
SPECS, A_FEW_FILES, A_FEW_SPECS = "5000", "40", "300"
TYPES = (
    *(
        "npy",
        "npz",
        "sparse.npz",
        "mtx",
        "mtx.gz",
        "mat",
        "compressed.mat",
        "version4.mat",
        "csv",
        "tsv",
        "txt",
        "labelled.csv",
        "csv.gz",
        "parquet",
        "h5",
    ),
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes and their limits as Linux has them")


def report(script, *args):
    """What a script prints in a process of its own, which a crash may end."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, HERE / script, *map(str, args)], capture_output=True, encoding="utf-8", env=env, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def assert_none_failed(found, record_property, name):
    tried = sum(found["seen"].values())
    record_property("fuzz", f"{name}: {tried} tried, {len(found['failures'])} failed; {found['seen']}")
    assert tried > 0
    assert not found["failures"], "\n".join(found["failures"][:20])


def test_a_few_damaged_files_are_read_right_or_refused(tmp_path, record_property):
    assert_none_failed(report("files.py", A_FEW_FILES, SEED, tmp_path, *TYPES), record_property, "files")


def test_a_few_damaged_specs_are_made_or_refused(record_property):
    assert_none_failed(report("specs.py", A_FEW_SPECS, SEED), record_property, "specs")


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TYPES)
def test_damaged_files_are_read_right_or_refused(name, tmp_path, record_property):
    assert_none_failed(report("files.py", FILES, SEED, tmp_path, name), record_property, name)


@pytest.mark.fuzz
def test_damaged_specs_are_made_or_refused(record_property):
    assert_none_failed(report("specs.py", SPECS, SEED), record_property, "specs")


@pytest.mark.fuzz
def test_each_mistake_of_a_reader_is_found(tmp_path):
    seen = report("planted.py", tmp_path)
    assert seen["crashes"] == {"a crash by SIGABRT": 1}
    assert seen["takes_memory"] == {"too much memory": 1}
    assert seen["hides_that_memory_ran_out"] == {"too much memory": 1}
    assert seen["hangs"] == {"more than 5 s": 1}
    assert seen["raises_anything"] == {"another error than a BregoptError": 1}
    assert seen["names_nothing"] == {"an error that does not name the file, or is long": 1}
    assert seen["is_wrong"]["another matrix than an independent reader"] > 0
