"""What results and certificates say, held against dense extended-precision recomputations of every iterate.

The long form is ``python -m pytest -m long tests/problems/test_certificates_recomputed.py``.

Recomputed at every iterate are Φ and, where a method names it by Φ and a divergence, the Lyapunov function. The weights
δ of inertial PALM-type methods, the envelope of bella and the bounds of ecd and els cannot be had from points alone: of
these it is checked that they are not below Φ.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recomputed import Real, ReluProblem, divergence, norm, penalties

import bregopt as bo

METHODS = [entry.name for entry in bo.catalog("method")]
ITERATIONS = 25
LAGGED = {"aapb-certified": True, "aapb-paper": False, "cocain": True}
"""Methods whose Lyapunov function is Φ + (δ/λ)D, and whether W is taken at the point of the gradient."""
PLAIN = {"aapb", "apb", "apb-paper", "bpg", "palm", "ppalm", "a-nmd", "ebcd-nmd", "aals", "masked-newton"}
"""Methods whose Lyapunov function is Φ."""
KNOWN_TO = {"float64": 1e-12, "float32": 1e-6}


@st.composite
def drawn_problems(draw):
    """ReLU-NMD of at most 12×12 with two penalties, at one of three scales; some starts fit the data."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    rank, scale = draw(st.integers(1, min(m, n))), draw(st.sampled_from([1.0, 1e-6, 1e6]))
    kind = draw(st.sampled_from(["low-rank", "sparse", "dense", "met", "nearly met"]))
    U, V = np.abs(rng.standard_normal((m, rank))), rng.standard_normal((rank, n))
    V[:, 0] = np.abs(V[:, 0])
    M = np.maximum(0, U @ V)
    if kind in ("sparse", "dense"):
        M = rng.random((m, n)) * (rng.random((m, n)) < (0.3 if kind == "sparse" else 1.0))
        M[0, 0] = 1.0
    dtype, root, start = draw(st.sampled_from(sorted(KNOWN_TO, reverse=True))), math.sqrt(scale), None
    if kind.endswith("met"):
        away = 0.0 if kind == "met" else 1e-7
        start = {"U": root * (U + away * rng.standard_normal(U.shape)), "V": root * V}
    names = st.sampled_from(list(penalties(scale)))
    on = ("none", "none") if kind.endswith("met") and draw(st.booleans()) else (draw(names), draw(names))
    return SimpleNamespace(
        M=(scale * M).astype(dtype),
        rank=rank,
        scale=scale,
        dtype=dtype,
        on=on,
        kernel=draw(st.sampled_from(["auto", "tight", "paper"])),
        start=start,
    )


def run(problem, method, iterations):
    """The result, every state, and the same problem from its formulas; ``None`` where the method refuses it."""
    on_U, on_V = (penalties(problem.scale)[name] for name in problem.on)
    states, start = [], None if problem.start is None else bo.Blocks(**problem.start)
    composed = bo.compose("relu-nmd", problem.M, problem.rank, U=on_U[0], V=on_V[0], kernel=problem.kernel)
    if problem.kernel == "auto":  # a bound of ‖M‖₂ that may exceed it by one part in 10⁴
        problem.bound = composed.kernel.pick(True).sample().b
        assert 1 - 1e-6 <= problem.bound / np.linalg.norm(np.float64(problem.M), 2) <= 1 + 1.1e-4
    try:
        result = bo.solve(
            composed,
            method=method,
            start=start,
            max_iterations=iterations,
            observers=[states.append],
        )
    except bo.errors.IncompatibleError:
        return None
    return result, states, ReluProblem(problem.M, on_U, on_V)


def lies(problem, method, iterations=ITERATIONS):
    """Every statement of a run that is not so, as a sentence."""
    made = run(problem, method, iterations)
    return [] if made is None else [*_of_values(problem, method, *made), *_of_the_certificate(problem, *made)]


def _of_values(problem, method, result, states, exact):
    eps, known_to = float(np.finfo(problem.dtype).eps), KNOWN_TO[problem.dtype]
    phi = [exact.objective(it.Y.U, it.Y.V) for it in states]
    slack = [exact.rounding(it.Y.U, it.Y.V, eps) for it in states]
    for it, value, rounding in zip(states, phi, slack, strict=True):
        if not math.isfinite(it.objective):
            continue
        off = float(it.objective - value)
        if abs(off) > rounding if it.exact else off < -rounding - known_to * it.scale:
            yield f"the objective at iteration {it.iteration} is off by {off:.1e}"
        if (
            method not in PLAIN
            and it.assumptions.get("step", True)
            and it.lyapunov < value - rounding - known_to * it.scale
        ):
            yield f"the Lyapunov value at iteration {it.iteration} is below Φ"
    if method in PLAIN:
        yield from _hidden_rises(result, states, phi, slack, known_to)
    elif method in LAGGED:
        theta = [value + _lag(problem, method, result.method, exact, states, k) for k, value in enumerate(phi)]
        for it, value, rounding in zip(states, theta, slack, strict=True):
            if abs(float(it.lyapunov - value)) > rounding + 1e-6 * float(value - exact.objective(it.Y.U, it.Y.V)):
                yield f"the Lyapunov value at iteration {it.iteration} is {it.lyapunov!r} and not {float(value)!r}"
        yield from _hidden_rises(result, states, theta, slack, known_to)


def _lag(problem, name, method, exact, states, k):
    """(δ/λ)·D(Y^{k−1}, Y^k) in the kernel of that step."""
    if k == 0:
        return 0.0
    before, here, reduced = states[k - 1].Y, states[k], LAGGED[name]
    at = before if k == 1 or not reduced else before.plus(here.beta, before - states[k - 2].Y)
    kernel = "paper" if name == "aapb-paper" else problem.kernel
    a, b = (1.0, problem.bound) if kernel == "auto" and reduced else exact.kernel(kernel, at.U, at.V)
    return method.beta.delta / here.step * divergence(Real(before.flat), Real(here.Y.flat), a, b)


def _hidden_rises(result, states, values, slack, known_to):
    for k in range(1, len(states)):
        terms = known_to * (states[k].scale + states[k - 1].scale) + 100 * (slack[k] + slack[k - 1])
        if values[k] - values[k - 1] > terms and k not in result.certificate.rises:
            yield f"the rise by {float(values[k] - values[k - 1]):.1e} at iteration {k} is not told"


def _of_the_certificate(problem, result, states, exact):
    certificate, text = result.certificate, result.certificate.summary()
    if certificate.assumptions_held and certificate.rises:
        yield f"all assumptions held, and rounding is called a rise at {certificate.rises[:3]}"
    if certificate.guaranteed and ("rose at" in text or not math.isfinite(result.objective) or not result.iterations):
        yield "a guarantee is given that cannot be"
    if certificate.guaranteed and not all(it.step and math.isfinite(it.step) for it in states[1:]):
        yield "a guarantee is given without a step"
    if result.status is bo.Status.DIVERGED:
        first, last = (float(exact.objective(it.Y.U, it.Y.V)) for it in (states[0], states[-1]))
        if last < 1e3 * abs(first) or last < 1e-8 * float(norm(exact.M)) ** 2:
            yield f"it is said to diverge, from {first:.1e} to {last:.1e}"
    if certificate.subgradient is not None:
        distance, told = exact.distance(result.Y.U, result.Y.V), certificate.subgradient
        if not distance <= told + certificate.subgradient_rounding:
            yield f"the distance to stationarity is {distance:.6e}, and |A| {told:.6e}"


SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("method", METHODS)
@given(problem=drawn_problems())
@settings(SLOW, max_examples=6)
def test_results_and_certificates_say_what_is_so(method, problem):
    assert not list(lies(problem, method))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("method", METHODS)
@given(problem=drawn_problems())
@settings(SLOW, max_examples=300)
def test_results_and_certificates_say_what_is_so_300_times(method, problem):
    assert not list(lies(problem, method, 2 * ITERATIONS))
