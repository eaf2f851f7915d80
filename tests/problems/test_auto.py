"""What ``auto`` picks, that it says so, and that what it picks runs."""

import numpy as np
import pytest

import bregopt as bo

LARGE, SMALL = (600, 500), (60, 50)


def picked(M, rank=8, H="l1(0.1)", **options):
    result = bo.solve(bo.compose("relu-nmd", M, rank=rank, U=H, V=H, **options), max_iterations=1)
    (note,) = [note for note in result.notes if note.startswith("auto picked")]
    return note.removeprefix("auto picked ").partition(":")[0]


def matrix(shape, density):
    rng = np.random.default_rng(0)
    return rng.random(shape) * (rng.random(shape) < density)


@pytest.mark.parametrize(
    ("shape", "density", "rank", "H", "method"),
    [
        (LARGE, 0.05, 8, "none", "hybrid(els)"),
        (LARGE, 0.05, 8, "ridge(0.1)", "hybrid(els)"),
        (LARGE, 0.05, 8, "l1(0.1)", "hybrid"),
        (LARGE, 0.2, 30, "l1(0.1)", "hybrid"),  # density × rank is 6
        (LARGE, 0.2, 60, "none", "els"),  # density × rank is 12
        (LARGE, 0.2, 60, "l1(0.1)", "ecd"),
        (LARGE, 0.8, 8, "none", "hybrid(els)"),
        (LARGE, 0.8, 16, "none", "els"),
        (LARGE, 0.8, 8, "ridge(0.1)", "els"),
        (LARGE, 0.8, 8, "l1(0.1)", "bella"),
        (LARGE, 0.8, 8, "mcp(0.1, 3)", "bella"),
        (LARGE, 0.8, 8, "l0(0.1)", "aapb"),
        (SMALL, 0.05, 8, "none", "els"),
        (SMALL, 0.05, 8, "l1(0.1)", "ecd"),
        (SMALL, 0.05, 8, "mcp(0.1, 3)", "ecd"),
        (LARGE, 0.05, 8, "l21(0.1)", "aapb"),
        (LARGE, 0.05, 8, "l0-ball(100)", "aapb"),
    ],
)
def test_auto_picks_by_the_regularizer_the_density_and_the_size(shape, density, rank, H, method):
    assert picked(matrix(shape, density), rank, H) == method


def test_what_masked_newton_cannot_read_goes_block_by_block(tmp_path):
    np.save(tmp_path / "M.npy", matrix(LARGE, 0.05))
    stored = np.load(tmp_path / "M.npy", mmap_mode="r")
    assert picked(stored) == "ecd"
    assert picked(stored, H="none") == "els"


def test_a_graph_in_F_leaves_aapb():
    graph = bo.make("regularizer", "graph", 2.0 * np.eye(60) - np.roll(np.eye(60), 1, 0) - np.roll(np.eye(60), -1, 0))
    assert picked(matrix(SMALL, 0.05), H="l1(0.1)", graph=graph) == "aapb"
