"""How far a reader has to go: the files that one iteration passes through, and the size of what holds one idea."""

import sys
from pathlib import Path

import numpy as np
import pytest
from attrs import frozen
from small_parts import HalfSquares

import bregopt as bo

ROOT = Path(__file__).parents[2]
M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))


@frozen(eq=False)
class Latent(bo.ClosedFormBlock):
    """W = M where M > 0, min(0, UV) elsewhere."""

    def argmin(self, smooth, Y):
        return np.where(M > 0, M, np.minimum(0, Y.U @ Y.V))

    def value(self, W):
        return 0.0


def files_of_an_iteration(problem, method, start):
    """The files of bregopt and of its plugins whose code runs in the fifth iteration."""
    run, files = bo.iterate(problem, method=method, start=start), set()
    for _ in range(5):
        next(run)

    def seen(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if any(ROOT / folder in path.parents for folder in ("bregopt", "plugins")):
            files.add(path)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        next(run)
    finally:
        sys.setprofile(before)
    return files


@pytest.mark.parametrize("method", ["aapb", "aapb(0.6, 1)", "apb(1)"])
def test_an_iteration_on_a_plain_problem_passes_through_twenty_files_at_most(method):
    rng = np.random.default_rng(1)
    start = bo.Blocks(U=rng.standard_normal((12, 2)), V=rng.standard_normal((2, 9)))
    kernel = bo.make("kernel", "psi1") + 30.0 * bo.make("kernel", "psi2")
    H = bo.make("regularizer", "l1(0.1)")
    problem = bo.Problem(smooth=HalfSquares(), block=Latent(), kernel=kernel, regularizer=H)
    files = files_of_an_iteration(problem, method, start)
    assert ROOT / "bregopt" / "engine" / "aapb.py" in files
    assert len(files) <= 20, sorted(str(path.relative_to(ROOT)) for path in files)


@pytest.mark.parametrize(
    ("regularizers", "most"), [({}, 25), ({"U": "l1(0.01)", "V": "l1(0.01)"}, 27)], ids=["no H", "l1"]
)
def test_an_iteration_of_relu_nmd_passes_through_25_files_and_two_more_with_l1(regularizers, most):
    files = files_of_an_iteration(bo.compose("relu-nmd", M, rank=4, **regularizers), "aapb", "scaled-random")
    assert ROOT / "plugins" / "bregopt_lowrank" / "passes" / "run.py" in files
    assert len(files) <= most, sorted(str(path.relative_to(ROOT)) for path in files)


def test_the_algorithm_box_fits_on_a_page():
    assert len((ROOT / "bregopt" / "engine" / "aapb.py").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    ("folder", "most"), [("bregopt/cli", 15), ("bregopt/testing", 24), ("plugins/bregopt_methods", 42)]
)
def test_no_package_is_scattered_over_many_files(folder, most):
    files = [it for it in (ROOT / folder).rglob("*.py") if "templates" not in it.parts]  # what is written for authors
    assert len(files) <= most
