"""Parts that are wrong in every way we could think of: one error that names the part and its line, or the right answer.

One file of parts is right as it stands. Each case plants one mistake in it, in one function of one part.
"""

import importlib.metadata
import importlib.util
import re
import traceback
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import bregopt as bo
from bregopt import part_errors
from bregopt.errors import PartError

PARTS = """
import math, sys, warnings
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((8, 6)))
SCALE = 20.0

class H(bo.Regularizer):
    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE
    @property
    def weak_convexity(self):
        return 0.0
    @property
    def step_limit(self):
        return math.inf
    def value(self, X):
        return 0.05 * float(np.square(X).sum())
    def prox(self, X, step):
        return X / (1.0 + 0.1 * step)
    def split(self):
        return None
    def scalar(self):
        return None

class K(bo.Kernel):
    @property
    def strong_convexity(self):
        return SCALE
    def value(self, Y):
        return 0.5 * SCALE * Y.dot(Y)
    def gradient(self, Y):
        return SCALE * Y
    def divergence(self, Y, Z):
        return 0.5 * SCALE * (Y - Z).dot(Y - Z)
    def contains(self, Y):
        return True
    def along(self, Y, D):
        return None

class Policy(bo.KernelPolicy):
    def at(self, norms):
        return K()
    def sample(self):
        return K()
    def pick(self, reduced):
        return self

class F(bo.SmoothPart):
    def value(self, Y, W):
        return 0.5 * float(np.sum((W - Y.U @ Y.V) ** 2))
    def value_and_gradient(self, Y, W):
        return 0.5 * np.sum((W - Y.U @ Y.V) ** 2), bo.Blocks(U=(Y.U @ Y.V - W) @ Y.V.T, V=Y.U.T @ (Y.U @ Y.V - W))
    def gram(self, Y, name):
        return Y.V @ Y.V.T if name == "U" else Y.U.T @ Y.U
    def smad(self, kernel, norms, reduced):
        return None

class B(bo.ClosedFormBlock):
    def check(self, Y):
        return None
    def argmin(self, smooth, Y):
        return M
    def value(self, W):
        return 0.0
    def norms(self, W):
        return {"frobenius": float(np.linalg.norm(W))}
    def bound_norms(self, norms, Y, Y_prev):
        return norms

class Oracle(bo.Oracle):
    def evaluate(self, Y, at=None, *, value_at=False):
        return bo.PlainOracle(F(), B()).evaluate(Y, at, value_at=value_at)

def bregman_prox(P, step, kernel):
    return P.map(lambda name, X: -X / (SCALE + 0.1 * step))

def metric(Y, W):
    return Y.norm()

class E(bo.Extrapolation):
    def choose(self, context, memory):
        return 0.3, memory

class T(bo.StepRule):
    tests = True
    def propose(self, carried, limit):
        return carried or 0.5
    def judge(self, trial):
        return trial.holds, trial.step if trial.holds else 0.5 * trial.step

class Stop(bo.StopRule):
    def judge(self, progress):
        return bo.Verdict(bo.Status.STOPPED, "Enough.") if progress.iteration >= 4 else None

class Start(bo.Start):
    def point(self, problem, rng):
        return bo.Blocks(U=0.3 * rng.standard_normal((8, 2)), V=0.3 * rng.standard_normal((2, 6)))

class Method(bo.Method):
    def start(self, problem, Y):
        return bo.State.at(problem.oracle.evaluate(Y, at=Y), problem.regularizer.value(Y))
    def advance(self, problem, state):
        Y = problem.regularizer.prox(state.Y.plus(-0.01, problem.oracle.evaluate(state.Y, at=state.Y).gradient), 0.01)
        seen, k = problem.oracle.evaluate(Y, at=Y), state.iteration + 1
        return bo.State.at(seen, problem.regularizer.value(Y), iteration=k)
    def check(self, problem):
        return None

class Selector(bo.Selector):
    def select(self, problem, Y):
        return Method(), "It is the only one."

class Watcher(bo.Observer):
    def see(self, state):
        return None
    def end(self, result):
        return None
"""

RAISES = {
    "raises": "raise ZeroDivisionError('planted')",
    "raises an error of a library": "np.linalg.inv(np.zeros((2, 2)))",
    "raises without a message": "raise KeyError",
    "raises StopIteration": "raise StopIteration('planted')",
    "ends the program": "sys.exit(0)",
    "calls itself": "return (lambda f: f(f))(lambda f: f(f))",
    "asserts": "assert False, 'planted'",
}
ARRAY = {
    "None": "return None",
    "rows missing": "return ({good})[:-1]",
    "broadcastable": "return ({good})[:1]",
    "transposed": "return ({good}).T",
    "flat": "return ({good}).ravel()",
    "number": "return 0.0",
    "int": "return np.rint({good}).astype(int)",
    "bool": "return ({good}) > 0",
    "complex": "return ({good}) + 0j",
    "object": "return ({good}).astype(object)",
    "string": "return 'X'",
    "list": "return ({good}).tolist()",
    "nan": "return ({good}) * np.nan",
    "one nan": "return np.where(({good}) == ({good}).max(), np.nan, {good})",
    "inf": "return ({good}) + np.inf",
    "function": "return lambda: None",
}
NUMBER = {
    "None": "return None",
    "string": "return '1.0'",
    "nan": "return math.nan",
    "complex": "return 1.0 + 1.0j",
    "array": "return np.ones(2)",
    "list": "return [1.0]",
    "function": "return lambda: 1.0",
}
BLOCKS = {
    "None": "return None",
    "string": "return 'Y'",
    "array": "return ({good}).flat",
    "dict": "return dict(U=({good}).U, V=({good}).V)",
    "one block": "return bo.Blocks(U=({good}).U)",
    "other names": "return bo.Blocks(A=({good}).U, B=({good}).V)",
    "other shapes": "return bo.Blocks(U=({good}).U[:-1], V=({good}).V)",
    "one entry": "return bo.Blocks(U=[[1.0]], V=[[1.0]])",
    "nan": "return ({good}) * math.nan",
    "inf": "return ({good}).like(({good}).flat + math.inf)",
}
OTHER = {"None": "return None", "string": "return 'yes'", "number": "return 3.5", "list": "return []"}
PAIR = {**OTHER, "triple": "return 1.0, 2.0, 3.0"}


def but(mistakes, *names, **more):
    """The mistakes without some, and with more."""
    return {name: body for name, body in mistakes.items() if name not in names} | more


LESS_THAN_ZERO = {"negative": "return -1.0"}
MISTAKES = {
    "H.value": but(NUMBER, minus_infinity="return -math.inf", writes="X *= 2.0; return 0.0"),
    "H.prox": but(ARRAY, returns_its_input="return X", writes="X /= 2.0; return X.copy()", view="return X[:]"),
    "H.weak_convexity": but(NUMBER, "None", **LESS_THAN_ZERO),
    "H.step_limit": but(NUMBER, **LESS_THAN_ZERO, zero="return 0.0"),
    "H.split": {**but(PAIR, "None"), "no regularizer": "return 1.0, 0.0", "no number": "return self, 'x'"},
    "H.scalar": but(OTHER, "None"),
    "K.value": but(NUMBER, minus_infinity="return -math.inf"),
    "K.gradient": BLOCKS,
    "K.divergence": but(NUMBER, **LESS_THAN_ZERO),
    "K.strong_convexity": but(NUMBER, **LESS_THAN_ZERO),
    "K.contains": {**OTHER, "array": "return np.ones(2) > 0"},
    "K.along": but(OTHER, "None", wrong_array="return np.ones((2, 2))"),
    "Policy.at": OTHER,
    "Policy.sample": OTHER,
    "Policy.pick": OTHER,
    "F.value": but(NUMBER, "nan"),
    "F.value_and_gradient": {
        **PAIR,
        **{f"value {name}": f"{body}, ({{good}})[1]" for name, body in NUMBER.items() if "lambda" not in body},
        **{
            f"gradient {name}": body.replace("return ", "return 1.0, ").replace("({good})", "({good})[1]")
            for name, body in BLOCKS.items()
        },
    },
    "F.gram": {
        "string": "return 'G'",
        "number": "return 1.0",
        "not square": "return np.ones((2, 3))",
        "nan": "return np.full((2, 2), np.nan)",
        "other size": "return np.eye(5)",
    },
    "F.smad": but(OTHER, "None"),
    "B.value": but(NUMBER, minus_infinity="return -math.inf"),
    "B.norms": {
        **but(OTHER, "list"),
        "no number": "return {'frobenius': 'x'}",
        "negative": "return {'frobenius': -1.0}",
    },
    "B.bound_norms": but(OTHER, "list"),
    "Oracle.evaluate": {
        **OTHER,
        "no gradient": "return bo.PlainOracle(F(), B()).evaluate(Y)",
        "value None": "return bo.Evaluation(Y, M, None, at, Y, 1.0, scale=1.0)",
        "value string": "return bo.Evaluation(Y, M, '1', at, Y, 1.0, scale=1.0)",
        "value nan": "return bo.Evaluation(Y, M, math.nan, at, Y, 1.0)",
        "gradient array": "return bo.Evaluation(Y, M, 1.0, at, Y.flat, 1.0)",
        "gradient nan": "return bo.Evaluation(Y, M, 1.0, at, Y * math.nan, 1.0)",
        "gradient of other blocks": "return bo.Evaluation(Y, M, 1.0, at, bo.Blocks(U=[[1.0]]), 1.0)",
        "norms list": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, norms=[1.0])",
        "norms of text": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, norms={'frobenius': 'x'})",
        "metrics list": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, metrics=[1.0])",
        "metrics of text": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, metrics={'error': 'x'})",
        "products text": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, products='x')",
        "products negative": "return bo.Evaluation(Y, M, 1.0, at, Y, 1.0, products=-1.0)",
        "array for Y": "return bo.Evaluation(Y.flat, M, 1.0, at, Y, 1.0)",
    },
    "bregman_prox": BLOCKS,
    "metric": but(NUMBER, "nan"),
    "E.choose": {
        **PAIR,
        **{f"β {name}": f"{body}, memory" for name, body in NUMBER.items() if "lambda" not in body},
        "β negative": "return -0.1, memory",
        "β infinite": "return math.inf, memory",
    },
    "T.propose": but(NUMBER, negative="return -1.0", zero="return 0.0", infinite="return math.inf"),
    "T.judge": {
        **PAIR,
        "text": "return 'yes', 1.0",
        "λ None": "return True, None",
        "λ nan": "return True, math.nan",
        "λ zero": "return False, 0.0",
        "λ text": "return True, '1'",
    },
    "Stop.judge": {
        **but(OTHER, "None"),
        "true": "return True",
        "false": "return False",
        "a verdict of text": "return bo.Verdict('done', 'Enough.')",
        "a reason that is a number": "return bo.Verdict(bo.Status.STOPPED, 3)",
    },
    "Start.point": but(BLOCKS, "one block", "other names", "other shapes", "one entry"),
    "Method.start": {**OTHER, "evaluation": "return problem.oracle.evaluate(Y, at=Y)"},
    "Method.advance": {
        **OTHER,
        "the array": "return state.Y.flat",
        "other blocks": "import attrs; return attrs.evolve(state, Y=bo.Blocks(U=[[1.0]]))",
        "objective text": "import attrs; return attrs.evolve(state, objective='low')",
    },
    "Selector.select": {**PAIR, "no method": "return 'aapb', 'why'", "no sentence": "return Method(), 3"},
}
ALSO_RAISE = ("B.check", "B.argmin", "Method.check", "Watcher.see", "Watcher.end")


def planted(slot, body):
    """The source with the body of one function replaced, and the lines at which the mistake may be named."""
    owner, _, name = slot.rpartition(".")
    lines, inside = PARTS.split("\n"), not owner
    for number, line in enumerate(lines):
        if owner and re.match(rf"class {owner}\b", line):
            inside = True
        if inside and re.match(rf"\s*def {name}\(", line):
            good = lines[number + 1].strip().removeprefix("return ")
            end = number + 2
            while lines[end].startswith("    " * (2 if owner else 1)):
                good, end = lines[end].strip().removeprefix("return "), end + 1
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            lines[number + 1 : end] = [indent + body.replace("{good}", good)]
            return "\n".join(lines), range(number, number + 3)
    raise AssertionError(slot)


def loaded(tmp_path, source):
    """The module in the file bad.py."""
    path = tmp_path / "bad.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("bad", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solve(bad, slot="", method=None, kernel=None, **limits):
    """A run in which every part has its place, but those that replace each other: then it is the one of the slot."""
    owner = slot.partition(".")[0]
    problem = bo.Problem(
        smooth=bad.F(),
        block=bad.B(),
        regularizer=bad.H(),
        kernel=kernel or (bad.Policy() if owner == "Policy" else bad.K()),
        start=bad.Start(),
        metrics={"size": bad.metric},
        prox=None if kernel else bad.bregman_prox,
        oracle=bad.Oracle() if owner == "Oracle" else None,
    )
    own = {"Method": bad.Method, "Selector": bad.Selector}.get(owner, lambda: bo.AAPB(bad.E(), bad.T()))
    limits = {"stop": bad.Stop(), "max_iterations": 9} | limits
    return bo.solve(problem, method=method or own(), observers=[bad.Watcher()], **limits)


def assert_named(error, slot, lines):
    """One sentence or a few, with the name of the part, and its file and line; and never an array."""
    text = str(error)
    owner = slot.partition(".")[0]
    assert re.search(rf"\b{owner}\b", text), text
    found = re.search(r"bad\.py:(\d+)", text)
    assert found, text
    assert int(found[1]) in lines, (text, lines)
    assert len(text) < 600, text


def with_signature(slot, parameters):
    """The source where one function takes other parameters."""
    source, lines = planted(slot, "return None")
    text = source.split("\n")
    text[lines[0]] = re.sub(r"\(.*\)", f"({parameters})", text[lines[0]])
    return "\n".join(text), lines


FUNCTIONS = [slot for slot in (*MISTAKES, *ALSO_RAISE) if slot not in
             ("H.weak_convexity", "H.step_limit", "K.strong_convexity")]  # fmt: skip


@pytest.mark.parametrize("surplus", [False, True])
@pytest.mark.parametrize("slot", FUNCTIONS)
def test_a_function_that_takes_other_arguments_is_named_with_its_line(slot, surplus, tmp_path):
    own = ["self"] if "." in slot else []
    wanted = [*own, *(f"argument_{number}" for number in range(7 if surplus else 0))]
    if not surplus and slot in ("H.split", "H.scalar", "Policy.sample"):
        wanted = []  # not even self
    source, lines = with_signature(slot, ", ".join(wanted))
    with pytest.raises(PartError) as caught:
        solve(loaded(tmp_path, source), slot, "palm" if slot == "F.gram" else None)
    assert_named(caught.value, slot, lines)


@pytest.mark.parametrize("slot", [slot for slot in FUNCTIONS if "." in slot and slot != "H.split"])
def test_a_number_in_the_place_of_a_method_is_an_error_that_names_the_class(slot, tmp_path):
    owner, _, name = slot.partition(".")
    bad = loaded(tmp_path, f"{PARTS}\n{owner}.{name} = 3.5\n")
    with pytest.raises(PartError, match=rf"\b{owner}\b"):
        solve(bad, slot, "palm" if slot == "F.gram" else None)


CASES = [
    *((slot, name, body) for slot, mistakes in MISTAKES.items() for name, body in mistakes.items()),
    *((slot, name, body) for slot in (*MISTAKES, *ALSO_RAISE) for name, body in RAISES.items()),
]


@pytest.mark.parametrize(("slot", "mistake", "body"), CASES, ids=[f"{slot} {name}" for slot, name, _ in CASES])
def test_a_part_that_is_wrong_is_one_error_with_its_name_and_line(slot, mistake, body, tmp_path):
    source, lines = planted(slot, body)
    bad = loaded(tmp_path, source)
    with pytest.raises(PartError) as caught:
        solve(bad, slot, "palm" if slot == "F.gram" else None)
    assert_named(caught.value, slot, lines)


@pytest.mark.parametrize("method", ["palm", "auto", "els", "bella", "cocain", "bpg"])
@pytest.mark.parametrize("mistake", ["broadcastable", "None", "nan", "list", "writes"])
def test_a_prox_that_is_wrong_is_one_error_under_every_method(mistake, method, tmp_path):
    source, lines = planted("H.prox", MISTAKES["H.prox"][mistake])
    with pytest.raises(PartError) as caught:
        solve(loaded(tmp_path, source), "H.prox", method)
    assert_named(caught.value, "H.prox", lines)


def test_the_parts_without_a_mistake_are_solved(tmp_path):
    bad = loaded(tmp_path, PARTS)
    for slot in ("", "Policy.at", "Oracle.evaluate", "Method.start", "Selector.select"):
        assert solve(bad, slot).reason == "Enough."


GOOD = {
    "H.prox": {"float32": "return (X / (1.0 + 0.1 * step)).astype(np.float32)",
               "columns first": "return np.asfortranarray(X / (1.0 + 0.1 * step))",
               "warns": "warnings.warn('planted'); return X / (1.0 + 0.1 * step)"},
    "H.value": {"float32": "return np.float32(0.05 * np.square(X).sum())", "int": "return 0",
                "inf": "return math.inf if (X > 100).any() else 0.05 * np.square(X).sum()"},
    "F.value": {"float32": "return np.float32(0.5 * np.sum((W - Y.U @ Y.V) ** 2))"},
    "metric": {"nan": "return math.nan"},
    "E.choose": {"int": "return 0, memory"},
    "Stop.judge": {"None": "return None"},
}  # fmt: skip
GOOD_CASES = [(slot, name, body) for slot, bodies in GOOD.items() for name, body in bodies.items()]


@pytest.mark.parametrize(("slot", "form", "body"), GOOD_CASES, ids=[f"{slot} {name}" for slot, name, _ in GOOD_CASES])
def test_a_result_of_another_form_that_says_the_same_is_taken(slot, form, body, tmp_path):
    expected = solve(loaded(tmp_path, PARTS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = solve(loaded(tmp_path, planted(slot, body)[0]))
    if slot not in ("Stop.judge", "E.choose") and form != "int":
        assert result.objective == pytest.approx(expected.objective, rel=1e-5)
    assert np.isfinite(result.objective)


LATER = "H.calls = getattr(H, 'calls', 0) + 1; return ({good}) * (BAD if H.calls > 20 else 1.0)"
METHODS = ["aapb", "bella", "bpg(L=1.1)", "cocain", "ippalm", "ipalm", "palm", "ppalm"]


@pytest.mark.parametrize("bad_number", ["math.nan", "math.inf"])
@pytest.mark.parametrize("slot", ["H.prox", "H.value", "F.value_and_gradient"])
@pytest.mark.parametrize("method", [None, *METHODS])
def test_what_is_not_finite_later_ends_the_run_with_its_best_iterate(method, slot, bad_number, tmp_path):
    body = LATER if slot != "F.value_and_gradient" else LATER.replace("({good}) *", "({good})[0], ({good})[1] *")
    bad = loaded(tmp_path, planted(slot, body.replace("BAD", bad_number))[0].replace("return 0.3, m", "return 0.0, m"))
    kernel = bo.make("kernel", "psi1") + 20.0 * bo.make("kernel", "psi2")  # its proximal map asks for that of H
    result = solve(bad, slot, method, kernel, stop=bo.make("stop", "tolerance(1e-14)"), max_iterations=60)
    assert result.status is bo.Status.NOT_FINITE
    assert np.isfinite(result.Y.flat).all()


def test_iterate_names_the_part_too(tmp_path):
    source, lines = planted("H.prox", "return X / int(step > 0.7)")  # the first step that is tried is 1
    bad = loaded(tmp_path, source.replace("X / int", "X * 1.0 if 1 / int").replace("0.7)", "0.7) else X"))
    problem = bo.Problem(smooth=bad.F(), block=bad.B(), regularizer=bad.H(), kernel=bad.K(), prox=bad.bregman_prox)
    states = bo.iterate(problem, method=bad.Method(), start=bad.Start())
    next(states)
    with pytest.raises(PartError) as caught:
        next(states)
    assert_named(caught.value, "H.prox", lines)
    assert isinstance(caught.value.raised, ZeroDivisionError)


def test_the_traceback_holds_the_lines_of_the_caller_and_of_the_author_only(tmp_path):
    source, _ = planted("Stop.judge", "return 1 / 0")
    with pytest.raises(PartError) as caught:
        solve(loaded(tmp_path, source), "Stop.judge")
    shown = "".join(traceback.format_exception(caught.value))
    assert "bad.py" in shown
    assert "return 1 / 0" in shown
    assert "engine" not in shown
    assert "direct cause" not in shown
    assert len(shown.splitlines()) < 30


NUMBERS = """
import attrs
import bregopt_lowrank as lowrank


@attrs.frozen
class Mine(lowrank.EntrywiseLoss):
    bound = 1.0

    @staticmethod
    def entry(x, m):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return unknown", "Mine.entry raised NameError: name 'unknown' is not defined"),
        ("return x - m", "Mine.entry must return three numbers, (e, e', e''). It returned -0.5"),
        ("return x, m if x > -9 else [m], 1.0", "numba cannot compile what is at"),
    ],
)
def test_a_mistake_in_a_loss_is_one_line_with_its_place(body, told, tmp_path):
    bad = loaded(tmp_path, NUMBERS.format(body=body))
    with pytest.raises(PartError) as caught:
        bo.compose("low-rank", np.ones((4, 3)), rank=1, loss=bad.Mine())
    assert told in str(caught.value)
    assert re.search(r"bad\.py:1[0-2]\b", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_is_nobodys_mistake_passes_untouched(error, tmp_path):
    bad = loaded(tmp_path, planted("H.prox", f"raise {error.__name__}")[0])
    with pytest.raises(error):
        solve(bad)


def test_a_mistake_of_bregopt_itself_stays_visible(tmp_path, monkeypatch):
    def broken(self):
        raise TypeError("a mistake in bregopt")

    monkeypatch.setattr(bo.BregmanModel, "minimiser", broken)
    broken.__globals__["__name__"], kept = "bregopt.engine.model", __name__
    try:
        with pytest.raises(TypeError, match="a mistake in bregopt"):
            solve(loaded(tmp_path, PARTS))
    finally:
        broken.__globals__["__name__"] = kept


def test_an_error_of_bregopt_that_a_part_raises_stays_as_it_is(tmp_path):
    bad = loaded(tmp_path, planted("B.check", "raise bo.errors.DataError('Y does not fit.')")[0])
    with pytest.raises(bo.errors.DataError, match=r"^Y does not fit\.$"):
        solve(bad)


def test_the_part_is_named_and_the_line_is_that_of_its_helper(tmp_path):
    source, _ = planted("H.prox", "return shrink(X)")
    bad = loaded(tmp_path, source + "\n\ndef shrink(X):\n    return [x for x in X.missing]\n")
    with pytest.raises(PartError, match=r"^H\.prox raised AttributeError: .*bad\.py:(\d+)") as caught:
        solve(bad)
    line = int(re.search(r"bad\.py:(\d+)", str(caught.value))[1])
    assert "X.missing" in (tmp_path / "bad.py").read_text().splitlines()[line - 1]


def test_a_long_message_is_shortened_and_an_array_is_never_shown(tmp_path):
    bad = loaded(tmp_path, planted("H.prox", "raise ValueError('long ' * 5000)")[0])
    with pytest.raises(PartError) as caught:
        solve(bad)
    assert len(str(caught.value)) < 600


def test_an_installed_plugin_is_named_with_its_distribution(tmp_path, monkeypatch):
    bo.plugins()  # all are loaded before
    known = list(importlib.metadata.entry_points(group="bregopt"))
    bad_point = SimpleNamespace(value="bad:hooks", dist=SimpleNamespace(name="bregopt-bad", version="1.2"))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [*known, bad_point])
    monkeypatch.setattr(part_errors, "_plugin_packages", part_errors._plugin_packages.__wrapped__)
    bad = loaded(tmp_path, planted("H.prox", "raise ValueError('planted')")[0])
    with pytest.raises(PartError, match=r"H\.prox raised ValueError: planted \(.*bad\.py:\d+, of bregopt-bad 1\.2\)"):
        solve(bad)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("assumptions", None),
        ("members", ["aapb"]),
        ("lyapunov", 3),
        ("safeguard", None),
        ("uses_kernel", "yes"),
        ("kernel", 3),
    ],
)
def test_a_method_that_says_nonsense_of_itself_is_an_error(name, claim, tmp_path):
    bad = loaded(tmp_path, f"{PARTS}\nMethod.{name} = {claim!r}\n")
    with pytest.raises(PartError, match=rf"Method\.{name} must return .*bad\.py:\d+"):
        solve(bad, "Method.start")


@pytest.mark.parametrize("given", [{"prox": 3}, {"oracle": 3}])
def test_a_problem_refuses_what_is_no_function_and_no_oracle(given, tmp_path):
    bad = loaded(tmp_path, PARTS)
    with pytest.raises(bo.errors.ParameterError, match=rf"'{next(iter(given))}' parameter of Problem must be"):
        bo.Problem(smooth=bad.F(), block=bad.B(), kernel=bad.K(), **given)
