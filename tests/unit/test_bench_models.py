"""``bregopt bench models``: on every model the library takes the iterates of loops written by hand in NumPy."""

import json

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.speed import model_loops, models

SMALL = ("--scale", 0.02, "--iterations", 5, "--repeats", 1)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measuring, "PAUSE", 0.0)
    monkeypatch.setattr(measuring, "ENOUGH", 0.0)


@pytest.mark.parametrize("name", models.MODELS)
def test_apb_and_palm_take_the_iterates_of_plain_numpy_on_every_model(name, call):
    code, out, err = call("bench", "models", "--model", name, *SMALL, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert {row["model"] for row in rows} == {name}
    assert "apb" in {row["method"] for row in rows}
    for row in rows:
        assert row["apart"] < 1e-10
        assert row["library_over_plain"] == row["library_seconds"] / row["plain_seconds"] > 0


@pytest.mark.parametrize(("model", "loop"), [("chain", "chain_palm"), ("shannon", "shannon")])
def test_a_loop_that_differs_is_an_error(model, loop, call, monkeypatch):
    right = getattr(model_loops, loop)

    def wrong(Y, iterations, *args, **rest):
        found, values = right(Y, iterations, *args, **rest)
        return tuple(1.0001 * X for X in found), values

    monkeypatch.setattr(model_loops, loop, wrong)
    code, out, err = call("bench", "models", "--model", model, *SMALL)
    assert (code, out) == (2, "")
    assert f"on {model} differ by" in err


def test_a_table_has_a_row_for_every_size_and_method(call):
    code, out, err = call("bench", "models", "--model", "linear", *SMALL)
    assert (code, err) == (0, "")
    shown = [line.split()[:4] for line in out.splitlines() if "linear" in line]
    assert [row[-1] for row in shown] == ["apb", "palm"] * 3
    assert max(map(len, out.splitlines())) <= 110


def test_a_model_that_is_not_measured_is_refused_with_those_that_are(call):
    code, out, err = call("bench", "models", "--model", "product")
    assert (code, out) == (2, "")
    assert "There is no model 'product' to be measured. There are: symmetric, cp" in err


def test_the_norm_that_the_sextic_step_looks_for_solves_its_equation():
    Y, G = (np.array([[3.0]]), np.array([[-1.0]])), (np.array([[0.5]]), np.array([[2.0]]))
    X = model_loops.sextic_step(Y, G, a=2.0, b=3.0, eta=0.0)
    s, t = (model_loops.squares(*it) for it in (Y, X))
    for x, y, g in zip(X, Y, G, strict=True):  # ∇ψ(X) = ∇ψ(Y) − G
        assert (2 * t**2 + 3 * t**0.5) * x == pytest.approx((2 * s**2 + 3 * s**0.5) * y - g)
