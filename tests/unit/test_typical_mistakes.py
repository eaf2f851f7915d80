"""What people type, and the one line that answers it: what was wrong, and what to do."""

import re

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import BregoptError

rng = np.random.default_rng(0)
M = np.maximum(0.0, rng.standard_normal((12, 9)))
U, V = rng.standard_normal((12, 3)), rng.standard_normal((3, 9))


def composed(name="relu-nmd", data=M, **given):
    return bo.compose(name, data, **{"rank": 3, **given})


def solved(**given):
    return bo.solve(composed(), **{"max_iterations": 2, **given})


IN_PYTHON = {
    "U=0.1": (lambda: composed(U=0.1), "write 'l1(0.1)' or 'ridge(0.1)'. Got 0.1"),
    "U='0.1'": (lambda: composed(U="0.1"), "write 'l1(0.1)' or 'ridge(0.1)'. Got 0.1"),
    "U=('l1', 0.1)": (lambda: composed(U=("l1", 0.1)), "write 'l1(0.1)'"),
    "U={'l1': 0.1}": (lambda: composed(U={"l1": 0.1}), "write 'l1(0.1)'"),
    "U=['l1', 'nonneg']": (lambda: composed(U=["l1", "nonneg"]), "Got 2 of them, and one is wanted"),
    "U='l1(0.1) + nonneg'": (lambda: composed(U="l1(0.1) + nonneg"), "give one regularizer"),
    "U=array": (lambda: composed(U=U), "by a spec such as 'name(value)', or by an object. Got an array of shape 12×3"),
    "U=the class": (lambda: composed(U=bo.Zero), "make an object of it, Zero(...)"),
    "U='laso'": (lambda: composed(U="laso"), "Did you mean 'l1' (lasso)?"),
    "U='smoothing'": (lambda: composed(U="smoothing"), "'bregopt plugins' lists the 37 that there are"),
    "U='l1(0.1'": (lambda: composed(U="l1(0.1"), "Write it as 'name' or 'name(value, key=value)'"),
    "U='l1(-1)'": (lambda: composed(U="l1(-1)"), "must be a finite number >= 0. Got -1"),
    "U='l1(1, 2)'": (lambda: composed(U="l1(1, 2)"), "It takes eta=1.0"),
    "U='l1(lam=1)'": (lambda: composed(U="l1(lam=1)"), "It takes eta=1.0"),
    "u='l1'": (lambda: composed(u="l1"), "'u'. Did you mean U?"),
    "rank=3.5": (lambda: composed(rank=3.5), "a whole number from 1 to 9, as M is 12×9. Got 3.5"),
    "rank=30": (lambda: composed(rank=30), "a whole number from 1 to 9, as M is 12×9. Got 30"),
    "no rank": (lambda: composed(rank=None), "a whole number from 1 to 9"),
    "a negative M": (lambda: composed(data=-M), "M must be non-negative"),
    "an M with inf": (lambda: composed(data=np.where(M > 1, np.inf, M)), "M must be finite"),
    "a vector": (lambda: composed(data=M[0]), "a matrix with two dimensions. Got shape (9,)"),
    "a mask of another shape": (lambda: composed("low-rank", mask=M[:3] > 0), "the shape of M, 12×9. Got 3×9"),
    "a problem that is not there": (lambda: composed("relu-nmf"), "Did you mean 'relu-nmd'?"),
    "a file that is not there": (lambda: bo.compose("cuonts.csv"), "'cuonts.csv' does not exist. Check the path"),
    "solve('relu-nmd')": (lambda: bo.solve("relu-nmd"), "as compose(...) makes it"),
    "solve((M, 3))": (lambda: bo.solve((M, 3)), "Got a tuple of an array of shape 12×9, 3 instead"),
    "method='aabp'": (lambda: solved(method="aabp"), "Did you mean 'aapb'?"),
    "method='adam'": (lambda: solved(method="adam"), "'bregopt plugins' lists"),
    "method=the class": (lambda: solved(method=bo.AAPB), "make an object of it, AAPB(...)"),
    "method='aapb(lr=1)'": (lambda: solved(method="aapb(lr=1)"), "It takes beta="),
    "stop=100": (lambda: solved(stop=100), "write 'max-iterations(100)' or 'tolerance(100)'"),
    "stop=[...]": (lambda: solved(stop=["plateau", "target(1)"]), "write 'plateau | target(1)'"),
    "stop=a function": (lambda: solved(stop=lambda progress: True), "'bregopt new stop' shows"),
    "max_iterations=2.5": (lambda: solved(max_iterations=2.5), "'max_iterations' parameter of solve must be a whole"),
    "tolerance='1e-3'": (lambda: solved(tolerance="1e-3"), "'tolerance' parameter of solve must be a finite number"),
    "seed='a'": (lambda: solved(seed="a"), "a whole number or a numpy Generator"),
    "start=U": (lambda: solved(start=U), "U of shape 12×3, V of shape 3×9. Got 1 array"),
    "start=(U, V.T)": (lambda: solved(start=(U, V.T)), "V of shape 9×3, not 3×9. Transpose it."),
    "start={'u': …}": (lambda: solved(start={"u": U, "v": V}), "Got u, v"),
    "start='runs/1'": (lambda: solved(start="runs/1"), "give the folder of a run"),
    "start='randm'": (lambda: solved(start="randm"), "Did you mean 'scaled-random' (random)"),
    "result.Y['W']": (lambda: solved().Y["W"], "the blocks are U, V"),
    "observers=3": (lambda: solved(observers=3), "functions of the state. Got 3"),
    "make('penalty', …)": (lambda: bo.make("penalty", "l1"), "no kind of part named 'penalty'"),
    "check('l1')": (lambda: bo.testing.check("l1"), "run 'bregopt check l1'"),
    "a plugin file that is not there": (lambda: bo.load_plugin("mine.py"), "'mine.py' does not exist"),
    "compose(M, 'relu-nmd')": (lambda: bo.compose(M, "nmf", rank=3), "comes before its data, as in compose('nmf', M)"),
    "compose(problem)": (lambda: bo.compose(composed()), "a problem already: give it to bregopt.solve"),
    "n_components=3": (lambda: bo.compose("relu-nmd", M, n_components=3), "'n_components'. Did you mean rank?"),
    "k=3": (lambda: bo.compose("relu-nmd", M, k=3), "'k'. Did you mean rank?"),
    "a word for a matrix": (lambda: composed(data="counts"), "Give numbers, or the path of a file"),
    "an address": (lambda: bo.compose("https://example.org/a.csv"), "bregopt downloads nothing. Save it first"),
    "solve(M, rank=3)": (lambda: bo.solve(M, rank=3), "solve takes no 'rank': give it to compose"),
    "solve(p, U='l1')": (lambda: solved(U="l1"), "solve takes no 'U': give it to compose"),
    "solve(p, max_iter=3)": (lambda: solved(max_iter=3), "takes no 'max_iter'. Did you mean max_iterations?"),
    "solve(p, tol=1e-3)": (lambda: solved(tol=1e-3), "takes no 'tol'. Did you mean tolerance?"),
    "solve(p, verbose=1)": (lambda: solved(verbose=1), "takes no 'verbose'. Did you mean progress?"),
    "solve(p, random_state=0)": (lambda: solved(random_state=0), "takes no 'random_state'. Did you mean seed?"),
    "solve(p, callback=print)": (lambda: solved(callback=print), "takes no 'callback'. Did you mean observers?"),
    "solve(p, init=…)": (lambda: solved(init="tsvd"), "takes no 'init'. Did you mean start?"),
    "solve(p, 'aapb')": (lambda: bo.solve(composed(), "aapb"), "Write solve(problem, name=value)"),
    "solve()": (lambda: bo.solve(), "missing a required argument: 'problem'"),
    "observers='print'": (lambda: solved(observers="print"), "functions of the state. Got 'print'"),
    "load('M.csv')": (lambda: bo.load(__file__), "it is none that result.save has written"),
    "resume('nowhere')": (lambda: bo.resume("nowhere"), "give the folder"),
}


@pytest.mark.parametrize("typed", IN_PYTHON)
def test_a_mistake_in_python_is_answered_by_one_line_that_says_what_to_do(typed):
    do, answer = IN_PYTHON[typed]
    with pytest.raises(BregoptError) as caught:
        do()
    assert answer in str(caught.value)
    assert_plain(str(caught.value))


ON_THE_COMMAND_LINE = {
    "-U 0.1": "write 'l1(0.1)' or 'ridge(0.1)'",
    "-U nonegative": "Did you mean 'nonneg' (nonnegative)?",
    "-V l1(0.1": "Write it as 'name' or 'name(value, key=value)'",
    "--method aabp": "Did you mean 'aapb'?",
    "--stop 100": "write 'max-iterations(100)' or 'tolerance(100)'",
    "--kernel euclidean": "'bregopt plugins' lists",
    "--problem completoin": "Did you mean 'completion'",
    "--rank 3.5": "is not a valid integer",
    "--rank 30": "from 1 to 9, as M is 12×9. Got 30",
    "--set rnk=3": "Did you mean 'rank'?",
    "--on A=l1": "takes no A: leave --on A=… out",
    "--max-iter": "Did you mean one of: '--max-iterations'",
    "--start runs/1": "give the folder of a run",
}


@pytest.mark.parametrize("typed", ON_THE_COMMAND_LINE)
def test_a_mistake_on_the_command_line_is_answered_by_one_line(typed, call, tmp_path):
    np.save(tmp_path / "M.npy", M)
    code, out, err = call("solve", tmp_path / "M.npy", "--no-progress", *typed.split(" ", 1))
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: ")
    assert ON_THE_COMMAND_LINE[typed] in err
    assert err.count("\n") == 1
    assert_plain(err)


def assert_plain(told):
    """One line without an array, an address in memory, a long list of names, or what Python calls things."""
    assert "\n" not in told.strip()
    assert not re.search(r"array\(|\[\[|\[ ?-?\d\.\d| at 0x|<function|<class", told)
    assert told.count("', '") < 4
    assert len(told) < 330


UNDERSTOOD = [
    ("l2(0.1)", "ridge(0.1)"),
    ("Tikhonov(0.1)", "ridge(0.1)"),
    ("lasso(0.1)", "l1(0.1)"),
    ("L1(0.1)", "l1(0.1)"),
    ("elasticnet(1, 2)", "elastic-net(1, 2)"),
    ("Elastic_Net(1, 2)", "elastic-net(1, 2)"),
    ("nonnegative", "nonneg"),
    ("tv1d(0.1)", "tv(0.1)"),
    ("orthogonal", "orthonormal"),
    ("on-columns(lasso(0.1), [0, 2])", "on-columns(l1(0.1), [0, 2])"),
    (None, "none"),
]


@pytest.mark.parametrize(("typed", "meant"), UNDERSTOOD)
def test_other_names_and_case_are_understood(typed, meant):
    assert repr(bo.make("regularizer", typed)) == repr(bo.make("regularizer", meant))


def test_groups_are_a_list_in_a_spec():
    groups = bo.make("regularizer", "group(groups=[0, 0, 1], eta=0.5)")
    X = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    assert groups.value(X) == pytest.approx(0.5 * (5.0 + 2.0))
    assert bo.make("regularizer", "group-lasso(0.5, per=[0, 0, 1])").value(X) == groups.value(X)


def test_a_column_that_the_history_does_not_have_is_answered_with_those_it_has():
    with pytest.raises(KeyError, match=r"no column 'error': it has iteration, seconds, objective"):
        solved().history["error"]


def test_a_home_folder_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.save(tmp_path / "M.npy", M)
    assert bo.solve("~/M.npy", max_iterations=0).Y.V.shape == (9, 9)


def test_a_result_is_a_start():
    first = solved()
    assert solved(start=first).objective == solved(start=first.Y).objective


@pytest.mark.parametrize("start", [(U, V), [U, V], {"V": V, "U": U}, bo.Blocks(U=U, V=V)])
def test_a_start_is_blocks_or_arrays(start):
    result = bo.solve(composed(), method="AAPB", start=start, max_iterations=3)
    assert (
        result.objective == bo.solve(composed(), method="aapb", start=bo.Blocks(U=U, V=V), max_iterations=3).objective
    )


def test_stop_rules_are_joined_in_a_spec_with_and_before_or():
    rule = bo.make("stop", "target(1) | max-iterations(2) & max-products(1)")
    target, both = (
        bo.make("stop", "target(1)"),
        [bo.make("stop", it) for it in ("max-iterations(2)", "max-products(1)")],
    )
    assert rule == target | (both[0] & both[1])


def test_a_single_function_watches_a_run():
    seen = []
    solved(observers=lambda state: seen.append(state.iteration))
    assert seen == [0, 1, 2]
