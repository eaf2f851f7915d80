"""What ``auto`` picks, that it says so, and that what it picks runs."""

import subprocess
import sys

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


@pytest.mark.parametrize("shape", [LARGE, SMALL])
@pytest.mark.parametrize("density", [0.05, 0.8])
@pytest.mark.parametrize(
    ("H", "method", "tried"),
    [
        ("none", "els", "masked-newton"),
        ("ridge(0.1)", "els", "masked-newton"),
        ("l1(0.1)", "ecd", "masked-newton"),
        ("l1-nonneg(0.1)", "ecd", "masked-newton"),
        ("mcp(0.1, 3)", "ecd", "masked-newton"),
        ("l0(0.1)", "ecd", "masked-newton"),
        ("nonneg", "ecd", None),
        ("l21(0.1)", "aapb", "bella"),
        ("nuclear(0.1)", "aapb", "bella"),
        ("rank-ball(2)", "nipalm", "bella"),
    ],
)
def test_auto_picks_by_the_regularizer_and_says_what_it_will_try(shape, density, H, method, tried):
    problem = bo.compose("relu-nmd", matrix(shape, density), rank=8, U=H, V=H)
    result = bo.solve(problem, max_iterations=1)
    (note,) = [note for note in result.notes if note.startswith("auto picked")]
    assert note.startswith(f"auto picked {method}: ")
    assert note.endswith(f", and {tried} will be tried as it goes." if tried else "block by block.")


@pytest.mark.parametrize(("H", "first"), [("none", 15), ("ridge(0.1)", 15), ("l1(0.1)", 20), ("mcp(0.1, 3)", 20)])
def test_a_sweep_of_coordinates_gets_more_iterations_than_least_squares_before_the_first_trial(H, first):
    problem = bo.compose("relu-nmd", matrix(SMALL, 0.05), rank=4, U=H, V=H)
    states = bo.iterate(problem, method="auto", seed=0)
    tried = next(state.iteration for state in states if state.inner.told)
    assert tried == first


@pytest.mark.parametrize(("H", "share"), [("none", 0.2), ("ridge(0.1)", 0.2), ("l1(0.1)", 0.3)])
def test_more_of_its_pace_is_asked_of_what_takes_over_from_coordinates(H, share):
    problem = bo.compose("relu-nmd", matrix(SMALL, 0.05), rank=4, U=H, V=H)
    Y = problem.first_point(None, np.random.default_rng(0))
    assert bo.make("method", "auto").select(problem, Y)[0].enough == share


def test_auto_looks_for_places_where_h_limits_how_many_there_are():
    assert picked(matrix(SMALL, 0.05), H="l0-ball(100)") == "support-search"
    assert picked(matrix(SMALL, 0.05), H="l0-ball(3, per=row)") == "support-search"


def test_what_masked_newton_cannot_read_goes_block_by_block(tmp_path):
    np.save(tmp_path / "M.npy", matrix(LARGE, 0.05))
    stored = np.load(tmp_path / "M.npy", mmap_mode="r")
    assert picked(stored) == "ecd"
    assert picked(stored, H="none") == "els"


def test_a_graph_in_F_leaves_a_kernel_for_all_blocks():
    graph = bo.make("regularizer", "graph", 2.0 * np.eye(60) - np.roll(np.eye(60), 1, 0) - np.roll(np.eye(60), -1, 0))
    assert picked(matrix(SMALL, 0.05), H="l1(0.1)", graph=graph) == "aapb"


def chosen(problem):
    result = bo.solve(problem, max_iterations=1)
    (note,) = [note for note in result.notes if note.startswith("auto picked")]
    return note.removeprefix("auto picked ").partition(": ")[0]


def test_auto_asks_what_a_problem_can_do_whatever_its_blocks_are():
    rng = np.random.default_rng(0)
    M, T, A = rng.standard_normal((9, 8)), rng.standard_normal((5, 4, 3)), rng.standard_normal((30, 4))
    counts = rng.poisson(5.0, (9, 8)) + 1.0
    found = {
        "three blocks with Gram matrices": bo.compose("cp", T, 2),
        "and with bounds": bo.compose("cp", np.abs(T), 2, nonneg=True),
        "and with l1": bo.compose("cp", T, 2, H="l1(0.1)"),
        "three blocks with constants alone": bo.compose("deep-linear", M, 3, rank=2),
        "and with H": bo.compose("deep-linear", M, 3, rank=2, H="ridge(0.1)"),
        "one block with a Gram matrix": bo.compose("low-rank", A[:, 0], model=bo.make("model", "linear", A)),
        "one block with a constant": bo.compose("phase-retrieval", A, np.square(A[:, 0])),
        "one block with a kernel": bo.compose("quadratic-inverse", A, np.square(A[:, 0])),
        "an open domain": bo.compose("poisson", np.abs(A), counts[:, 0][[0] * 30]),
        "kernels for single blocks": bo.compose("kl-nmf", counts, 2),
        "H that is not weakly convex": bo.compose("sparse-pca", M, 2),
        "a loss with corners": bo.compose("robust-pca", M, 2),
        "one factor fixed": bo.compose("low-rank", M, V=bo.Fixed(M[:2])),
    }
    assert {label: chosen(problem) for label, problem in found.items()} == {
        "three blocks with Gram matrices": "els",
        "and with bounds": "ecd",
        "and with l1": "ecd",
        "three blocks with constants alone": "ipalm",
        "and with H": "bella",
        "one block with a Gram matrix": "els",
        "one block with a constant": "aapb",
        "one block with a kernel": "aapb",
        "an open domain": "aapb",
        "kernels for single blocks": "bpalm(inertia=true)",
        "H that is not weakly convex": "nipalm",
        "a loss with corners": "els",
        "one factor fixed": "masked-newton",
    }


@pytest.mark.parametrize("H", ["none", "l1(0.1)", "rank-ball(2)"])
def test_the_same_seed_gives_the_same_answer_whatever_else_the_machine_does(H):
    problem = bo.compose("relu-nmd", matrix(LARGE, 0.05), rank=8, U=H, V=H)
    idle = bo.solve(problem, max_iterations=25)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            beside = bo.solve(problem, max_iterations=25)
        finally:
            busy.kill()
    assert any("was tried" in note for note in idle.notes)
    assert beside.notes == idle.notes
    assert beside.counts == idle.counts
    assert beside.Y.flat.tobytes() == idle.Y.flat.tobytes()
