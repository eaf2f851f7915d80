"""The checks of a regularizer, by name."""

from collections.abc import Callable, Mapping

from bregopt.parts.regularizer import Regularizer
from bregopt.testing import (
    bregman_prox,
    descent,
    form_checks,
    prox_arrays,
    prox_purity,
    prox_variational,
    smooth_form,
    traits_checks,
    value_checks,
)
from bregopt.testing.draw import Draw

REGULARIZER: Mapping[str, Callable[[Regularizer, Draw], None]] = {
    "prox/variational": prox_variational.variational,
    "prox/fresh": prox_purity.fresh,
    "prox/deterministic": prox_purity.deterministic,
    "prox/shape-dtype": prox_arrays.shape_and_dtype,
    "value/finite-at-prox": value_checks.finite_at_prox,
    "value/python-float": value_checks.python_float,
    "value/not-negative-infinite": value_checks.not_negative_infinite,
    "traits/convex": traits_checks.convex,
    "traits/separable": traits_checks.separable,
    "traits/homogeneous": traits_checks.homogeneous,
    "traits/row-wise": traits_checks.row_wise,
    "traits/constant-norm": traits_checks.constant_norm,
    "weak-convexity/holds": form_checks.weak_convexity,
    "split/adds-up": form_checks.split,
    "scalar/adds-up": form_checks.scalar,
    "piece/holds": form_checks.piece,
    "smooth/gradient": smooth_form.gradient,
    "smooth/curvature": smooth_form.curvature,
    "step-limit/respected": prox_variational.step_limit,
    "bregman-prox/minimal": bregman_prox.of_regularizer,
    "engine/descent": descent.descends,
}
