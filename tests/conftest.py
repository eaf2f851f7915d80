"""Lets the tests share helpers: ``from prox_rivals import …``; random cases are the same in every run of CI."""

import os
import sys
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(name, "1")  # there is a worker for each processor

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from bregopt.host.compose import host  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture
def small_tiles(monkeypatch):
    """Cut M into tiles of a few entries, or, with ``alone=0``, give even a small M several threads."""
    from bregopt_lowrank.passes import run

    def cut(work=0, least=run.LEAST, alone=run.ALONE):
        monkeypatch.setattr(run, "WORK", work)
        monkeypatch.setattr(run, "LEAST", least)
        monkeypatch.setattr(run, "ALONE", alone)

    return cut


@pytest.fixture
def two_blas_threads():
    """As a user has them, where what is tested may depend on it."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def fresh_host():
    """Plugins loaded here are forgotten afterwards."""
    host.cache_clear()
    yield
    host.cache_clear()


@pytest.fixture
def paper_data(monkeypatch):
    """The folder of the paper's data sets, $BREGOPT_DATA or ../shared/data; without it the test is skipped."""
    given = os.environ.get("BREGOPT_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the data sets of the paper are not at {folder}; set BREGOPT_DATA to their folder")
    monkeypatch.setenv("BREGOPT_DATA", str(folder))
    return folder
