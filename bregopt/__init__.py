"""bregopt: two-block Bregman proximal optimization, built of plugins.

Everything a user or a plugin author needs is a name of this package; what needs the plugin host is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bregopt import errors, validate
from bregopt.blocks import Array, Blocks
from bregopt.engine.aapb import AAPB
from bregopt.engine.certificate import Certificate
from bregopt.engine.method import Method, Subgradient
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.state import State
from bregopt.parts.balance import balanced
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import Kernel, KernelByMode, KernelPolicy, KernelSum, Norms
from bregopt.parts.oracle import Evaluation, Oracle, PlainOracle, Sweep, Update, gradient_of
from bregopt.parts.penalty import ScalarPenalty
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable, SmoothRegularizer, Zero
from bregopt.parts.smooth import Smad, SmoothPart
from bregopt.parts.traits import Trait
from bregopt.parts.wrapped import WrappedRegularizer
from bregopt.problem import Problem, Start, oracle_of
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext, Forecast, nesterov
from bregopt.rules.step import StepRule, Trial
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

if TYPE_CHECKING:
    from bregopt import testing
    from bregopt.host.api import iterate, solve
    from bregopt.host.compose import bregman_prox, catalog, compose, load_plugin, make, plugins, resolve_data
    from bregopt.host.hookspecs import hookimpl, hookspec
    from bregopt.host.registry import Registrar

__version__ = "0.1.0"

_HOST = {
    "bregman_prox": "compose",
    "catalog": "compose",
    "compose": "compose",
    "hookimpl": "hookspecs",
    "hookspec": "hookspecs",
    "iterate": "api",
    "load_plugin": "compose",
    "make": "compose",
    "plugins": "compose",
    "Registrar": "registry",
    "resolve_data": "compose",
    "solve": "api",
}

__all__ = [
    "AAPB",
    "Array",
    "Blocks",
    "BregmanProx",
    "Certificate",
    "ClosedFormBlock",
    "Evaluation",
    "Extrapolation",
    "ExtrapolationContext",
    "Forecast",
    "Kernel",
    "KernelByMode",
    "KernelPolicy",
    "KernelSum",
    "Method",
    "Norms",
    "Observer",
    "Oracle",
    "PlainOracle",
    "Problem",
    "Progress",
    "Registrar",
    "Regularizer",
    "Result",
    "ScalarPenalty",
    "Separable",
    "Smad",
    "SmoothPart",
    "SmoothRegularizer",
    "Start",
    "State",
    "Status",
    "StepRule",
    "StopRule",
    "Subgradient",
    "Sweep",
    "Trait",
    "Trial",
    "Update",
    "Verdict",
    "WrappedRegularizer",
    "Zero",
    "balanced",
    "bregman_prox",
    "catalog",
    "compose",
    "errors",
    "gradient_of",
    "hookimpl",
    "hookspec",
    "iterate",
    "load_plugin",
    "make",
    "nesterov",
    "oracle_of",
    "plugins",
    "resolve_data",
    "solve",
    "testing",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("bregopt.testing")
    if name not in _HOST:
        raise AttributeError(f"module 'bregopt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bregopt.host.{_HOST[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
