"""The scalar solvers against extended precision, over every scale a double can hold."""

import mpmath
import numpy as np
import pytest
from bregopt_kernels.radial_prox import coupled, cube_root, cubic, falling_root, radius

from bregopt.errors import ParameterError

mpmath.mp.dps = 60


def exact_cubic(a, c):
    """The root of a t³ + c t = 1 by bisection in log t."""
    a, c = mpmath.mpf(a), mpmath.mpf(c)
    bounds = [1 / c] if c else []
    bounds += [mpmath.root(1 / a, 3)] if a else []
    high = min(bounds)
    low = high / 4
    for _ in range(220):
        middle = (low + high) / 2
        low, high = (middle, high) if a * middle**3 + c * middle < 1 else (low, middle)
    return (low + high) / 2


def exact_coupled(a, c, n):
    a, c, n = mpmath.mpf(a), [mpmath.mpf(x) for x in c], [mpmath.mpf(x) for x in n]

    def right(w):
        return mpmath.sqrt(mpmath.fsum((ni / (a * w * w + ci)) ** 2 for ni, ci in zip(n, c, strict=True)))

    low = high = right(mpmath.mpf(0)) if all(c) else mpmath.root(mpmath.sqrt(mpmath.fsum(x * x for x in n)) / a, 3)
    while right(low) < low:
        low /= 1000
    for _ in range(400):
        middle = mpmath.sqrt(low * high)
        low, high = (middle, high) if middle < right(middle) else (low, middle)
    return mpmath.sqrt(low * high)


EXTREMES = [0.0, 1e-300, 1e-200, 1e-103, 1e-30, 1e-12, 1.0, 3.7, 1e12, 1e103, 1e200, 1e300]


@pytest.mark.parametrize("a", EXTREMES)
@pytest.mark.parametrize("c", EXTREMES)
def test_the_cubic_is_exact_at_the_extremes(a, c):
    if a == c == 0:
        with pytest.raises(ParameterError, match="not both zero"):
            cubic(a, c)
    else:
        exact = exact_cubic(a, c)
        assert abs(cubic(a, c) - exact) <= 1e-14 * exact


def test_the_cubic_is_exact_at_random_scales():
    rng = np.random.default_rng(0)
    for a, c in 10.0 ** rng.uniform(-300, 300, (300, 2)):
        exact = exact_cubic(a, c)
        assert abs(cubic(a, c) - exact) <= 1e-14 * exact


@pytest.mark.parametrize("bad", [(-1, 1), (1, -1), (np.nan, 1), (1, np.inf)])
def test_the_cubic_refuses_what_has_no_root(bad):
    with pytest.raises(ParameterError):
        cubic(*bad)


def test_the_cube_root_of_eight_times_a_number_is_exactly_twice_its_own():
    numbers = np.random.default_rng(0).uniform(0.01, 100.0, 300)
    for power in (-330, -20, 20, 330):
        for a in numbers:
            assert cube_root(8.0**power * a) == 2.0**power * cube_root(a)
    assert [cube_root(a) for a in (0.0, 1.0, 8.0)] == [0.0, 1.0, 2.0]
    assert cube_root(5e-324) == pytest.approx(1.7031839360032603e-108, rel=1e-15)


def test_the_radius_of_nothing_is_zero():
    assert radius(1.0, 1.0, 0.0) == 0.0


def test_the_coupled_root_is_exact_at_random_scales():
    rng = np.random.default_rng(1)
    for _ in range(60):
        size = int(rng.integers(1, 6))
        a = 10.0 ** rng.uniform(-100, 100)
        c, n = 10.0 ** rng.uniform(-100, 100, size), 10.0 ** rng.uniform(-100, 100, size)
        exact = exact_coupled(a, c, n)
        assert abs(coupled(a, c, n) - exact) <= 1e-14 * exact


@pytest.mark.parametrize(
    "case", [(0.0, [1.0, 2.0], [3.0, 4.0]), (1.0, [0.0, 2.0], [3.0, 4.0]), (2.0, [0.0, 0.0], [1.0, 1.0])]
)
def test_the_coupled_root_is_exact_where_something_is_zero(case):
    a, c, n = case
    exact = exact_coupled(a, c, n) if a else mpmath.sqrt((3 / mpmath.mpf(1)) ** 2 + (4 / mpmath.mpf(2)) ** 2)
    assert abs(coupled(a, np.array(c), np.array(n)) - exact) <= 1e-14 * exact


def test_the_coupled_root_is_exact_with_ten_thousand_shares():
    rng = np.random.default_rng(2)
    c, n = 10.0 ** rng.uniform(-3, 3, 10_000), 10.0 ** rng.uniform(-3, 3, 10_000)
    exact = _exact_by_longdouble(0.7, c, n)
    assert abs(coupled(0.7, c, n) - exact) <= 1e-14 * exact


def _exact_by_longdouble(a, c, n):
    c, n, a = c.astype(np.longdouble), n.astype(np.longdouble), np.longdouble(a)
    low, high = np.longdouble(0), np.sqrt(np.sum((n / c) ** 2))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < np.sqrt(np.sum((n / (a * middle**2 + c)) ** 2)) else (low, middle)
    return (low + high) / 2


def test_the_coupled_root_is_found_where_newton_would_cycle():
    a, c, n = 5.6e58, np.array([1.6e95, 7.9e-77, 3.1e-43]), np.array([6.4e5, 2.5e-97, 1.0e-86])
    exact = exact_coupled(a, c, n)
    assert abs(coupled(a, c, n) - exact) <= 1e-14 * exact


def test_blocks_without_length_do_not_count():
    assert coupled(1.0, np.array([1.0, 5.0]), np.array([2.0, 0.0])) == radius(1.0, 1.0, 2.0)
    assert coupled(1.0, np.array([1.0]), np.array([0.0])) == 0.0


@pytest.mark.parametrize("root", [0.0, 1e-9, 1.0, 1e9])
def test_the_falling_root_is_found_from_any_guess(root):
    for guess in (0.0, 1e-12, 1.0, 1e12):
        found = falling_root(lambda theta: root - theta, guess, 1.0)
        assert abs(found - root) <= 1e-14 * (1.0 + root)
