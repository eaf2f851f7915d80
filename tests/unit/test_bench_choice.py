"""``bregopt bench choice``: forty matrices of fixed seeds in two halves, and ``auto`` against the best on them."""

import json

import numpy as np
import pytest
from bregopt_bench.choice import command
from bregopt_bench.choice.generated import KINDS, PENALTIES, SIZES, drawn, penalty

import bregopt as bo


def test_there_are_forty_matrices_and_every_kind_and_size_is_in_both_halves():
    found = list(drawn())
    assert len(found) == len({it.seed for it in found}) == 40
    for chosen_by in (True, False):
        half = [it for it in found if it.chosen_by == chosen_by]
        assert len(half) == 20
        assert {it.kind for it in half} == set(KINDS)
        assert {it.size for it in half} == set(SIZES)


@pytest.mark.parametrize("given", [it for it in drawn() if it.size == "tiny"], ids=lambda it: it.kind)
def test_a_matrix_is_the_same_each_time_and_every_penalty_goes_with_it(given):
    M, again = given.matrix(), given.matrix()
    dense = M.toarray() if hasattr(M, "toarray") else M
    np.testing.assert_array_equal(dense, again.toarray() if hasattr(again, "toarray") else again)
    assert dense.shape == SIZES["tiny"][:2]
    assert dense.min() >= 0
    assert dense.any()
    for H in PENALTIES:
        result = bo.solve(bo.compose("relu-nmd", M, rank=given.rank, **penalty(H, M, given.rank)), max_iterations=30)
        assert result.Y.U.any(), f"{H} leaves no fit"
        assert result.metrics["relative_error"] < 1


def test_a_row_compares_auto_with_the_best_and_with_the_fastest(monkeypatch):
    courses = {
        "auto": command.Course(np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 2.0]), np.array([8.0, 4.0, 2.0])),
        "els": command.Course(np.array([0.0, 15.0, 20.0]), np.array([0.0, 0.5, 0.8]), np.array([8.0, 2.0, 1.0])),
    }
    monkeypatch.setattr(command, "OURS", ("els",))
    monkeypatch.setattr(command, "course", lambda problem, method, *_: courses[method])
    row = command.choice_row(None, [10.0, 20.0], 1.0)
    assert row["10"] == {"over_best": 0.5, "best": "els"}
    assert row["20"] == {"over_best": 2.0, "best": "els"}
    assert row["seconds"] == {"over_fastest": 4.0, "fastest": "els"}


@pytest.mark.parametrize(("longest", "shortest", "repeated"), [(0.02, 0.01, True), (1.0, 0.01, False)])
def test_seconds_are_those_of_the_processor_and_the_least_of_several_short_runs(
    monkeypatch, longest, shortest, repeated
):
    lengths = iter([longest, shortest, longest])

    def ticks():
        for length in lengths:
            yield from (length * k for k in range(11))

    clock = ticks()
    monkeypatch.setattr(command.time, "process_time", lambda: next(clock))
    problem = bo.compose("relu-nmd", np.eye(12, 9), rank=2)
    found = command.course(problem, "ecd", 30.0, 60.0)
    np.testing.assert_allclose(found.seconds, (shortest if repeated else longest) * np.arange(11))
    assert len(found.products) == 11


def test_each_kind_of_problem_is_met_once_before_it_is_timed(call, monkeypatch):
    asked = []
    course = command.Course(np.array([0.0, 20.0]), np.array([0.0, 1.0]), np.array([2.0, 1.0]))
    monkeypatch.setattr(command, "OURS", ("ecd",))
    monkeypatch.setattr(command, "course", lambda problem, method, products, _: asked.append(products) or course)
    options = ("bench", "choice", "--size", "tiny", "-H", "none", "-H", "l1", "--products", 20)
    assert call(*options)[0] == 0
    tiny = [type(it.matrix()) for it in drawn() if it.size == "tiny" and not it.chosen_by]
    assert asked.count(20) == 2 * len(tiny) * 2  # auto and ecd, and two penalties
    assert asked.count(command.WARM) == 2 * len(set(tiny)) * 2  # dense, or sparse, or both


def test_the_command_prints_a_table_or_json(call):
    options = ("bench", "choice", "--size", "tiny", "-H", "nonneg", "--products", 20)
    code, out, _ = call(*options, "--rows")
    assert code == 0
    assert "near at 20" in out
    assert "hub graph, tiny" in out
    code, out, _ = call(*options, "--json")
    assert len(json.loads(out)["rows"]) == 5
