"""Every test here is of the suite ``faults``: ``python -m pytest -m faults``."""

from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture(scope="session")
def large_file(tmp_path_factory):
    """A matrix just large enough for compiled loops."""
    path = tmp_path_factory.mktemp("data") / "M.npy"
    np.save(path, np.maximum(0, np.random.default_rng(0).standard_normal((500, 420))))
    return path


@pytest.fixture(scope="session")
def small_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "M.npy"
    np.save(path, np.maximum(0, np.random.default_rng(0).standard_normal((60, 40))))
    return path
