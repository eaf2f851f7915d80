"""The checks of a kernel, by name."""

from collections.abc import Callable, Mapping

from bregopt.parts.kernel import Kernel
from bregopt.testing import bregman_prox, divergence_checks, domain, kernel_convexity, kernel_forms, kernel_gradient
from bregopt.testing.draw import Draw

KERNEL: Mapping[str, Callable[[Kernel, Draw], None]] = {
    "gradient/taylor-slope": kernel_gradient.taylor_slope,
    "divergence/non-negative": divergence_checks.non_negative,
    "divergence/definition": divergence_checks.definition,
    "divergence/stable": divergence_checks.stable,
    "strong-convexity/holds": kernel_convexity.strong_convexity,
    "quartic/holds": kernel_convexity.quartic,
    "schatten4/holds": kernel_convexity.schatten4,
    "along/polynomial": kernel_forms.along,
    "unscaled/same": kernel_forms.unscaled,
    "domain/contains-and-longest": domain.contains_and_longest,
    "arithmetic/sum-and-scale": kernel_forms.arithmetic,
    "kernel/no-write": kernel_forms.no_write,
    "bregman-prox/minimal": bregman_prox.of_kernel,
}
