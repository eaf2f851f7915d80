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


def test_the_command_prints_a_table_or_json(call):
    options = ("bench", "choice", "--size", "tiny", "-H", "nonneg", "--products", 20)
    code, out, _ = call(*options, "--rows")
    assert code == 0
    assert "near at 20" in out
    assert "hub graph, tiny" in out
    code, out, _ = call(*options, "--json")
    assert len(json.loads(out)["rows"]) == 5
