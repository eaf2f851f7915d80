"""The checks of a problem at a point, by name: its smooth part, its block, its oracle and its constants."""

from collections.abc import Callable, Mapping

from bregopt.testing import block_checks, oracle_checks, smad_checks, smooth_checks, smooth_claims, sweep_checks
from bregopt.testing.draw import Draw
from bregopt.testing.smooth_checks import Pair

PROBLEM: Mapping[str, Callable[[Pair, Draw], None]] = {
    "smooth/gradient": smooth_checks.gradient,
    "smooth/value-consistent": smooth_checks.value_consistent,
    "smooth/gram": smooth_claims.gram,
    "smooth/of-product": smooth_claims.of_product,
    "block/optimal": block_checks.optimal,
    "block/bounds": block_checks.bounds,
    "oracle/equals-plain": oracle_checks.equals_plain,
    "oracle/sweep": sweep_checks.sweep_equals_plain,
    "smad/upper": smad_checks.upper,
    "smad/lower": smad_checks.lower,
    "smad/low": smad_checks.low,
}
