"""bregopt: two-block Bregman proximal optimization, built of plugins.

Everything a user or a plugin author needs is a name of this package; what needs the plugin host is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bregopt import errors, validate
from bregopt.blocks import Array, Blocks
from bregopt.engine.aapb import AAPB
from bregopt.engine.bregman_step import KernelForecast, TakenStep
from bregopt.engine.certificate import Certificate
from bregopt.engine.method import Method, Momentum, Selector, Subgradient
from bregopt.engine.model import BregmanModel
from bregopt.engine.observer import Observer
from bregopt.engine.result import Result
from bregopt.engine.state import Assumption, State, assumptions_met
from bregopt.labels import Labels
from bregopt.parts.balance import balanced
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.data_model import DataModel, Reconstruction, percent
from bregopt.parts.kernel import Kernel, KernelByMode, KernelPolicy, KernelSum, Norms
from bregopt.parts.oracle import Evaluation, Oracle, PlainOracle, Sweep, Update
from bregopt.parts.penalty import EntryPenalty, ScalarPenalty
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import ConvexParts, Regularizer, Separable, SmoothRegularizer, Sparsity, Zero, tikhonov
from bregopt.parts.smooth import Smad, SmoothPart
from bregopt.parts.traits import Trait
from bregopt.parts.wrapped import WrappedRegularizer
from bregopt.problem import Fixed, Problem, ProblemParts, ResolvedProblem, Start
from bregopt.rules.extrapolation import Extrapolation, ExtrapolationContext, Forecast, nesterov
from bregopt.rules.step import StepRule, Trial
from bregopt.rules.stopping import Progress, Status, StopRule, Verdict

if TYPE_CHECKING:
    from bregopt import testing
    from bregopt.engine.solve import feasible
    from bregopt.host.api import iterate, solve
    from bregopt.host.compose import (
        bregman_prox,
        catalog,
        compose,
        load_plugin,
        make,
        plugins,
        resolve_data,
        resolve_prox,
    )
    from bregopt.host.hookspecs import hookimpl, hookspec
    from bregopt.host.registry import Registrar
    from bregopt.host.resume import load, resume
    from bregopt.host.spec import parse as parse_spec
    from bregopt.reports.curves import plot
    from bregopt.reports.page import report
    from bregopt.rules.interrupt import Interrupt

__version__ = "0.1.0"

_LAZY = {
    "bregman_prox": "host.compose:bregman_prox",
    "catalog": "host.compose:catalog",
    "compose": "host.compose:compose",
    "feasible": "engine.solve:feasible",
    "hookimpl": "host.hookspecs:hookimpl",
    "hookspec": "host.hookspecs:hookspec",
    "Interrupt": "rules.interrupt:Interrupt",
    "iterate": "host.api:iterate",
    "load": "host.resume:load",
    "load_plugin": "host.compose:load_plugin",
    "make": "host.compose:make",
    "parse_spec": "host.spec:parse",
    "plot": "reports.curves:plot",
    "plugins": "host.compose:plugins",
    "Registrar": "host.registry:Registrar",
    "report": "reports.page:report",
    "resolve_data": "host.compose:resolve_data",
    "resolve_prox": "host.compose:resolve_prox",
    "resume": "host.resume:resume",
    "solve": "host.api:solve",
}
"""Public names by where they stand, for what needs more than numpy."""

__all__ = [
    "AAPB",
    "Array",
    "Assumption",
    "Blocks",
    "BregmanModel",
    "BregmanProx",
    "Certificate",
    "ClosedFormBlock",
    "ConvexParts",
    "DataModel",
    "EntryPenalty",
    "Evaluation",
    "Extrapolation",
    "ExtrapolationContext",
    "Fixed",
    "Forecast",
    "Interrupt",
    "Kernel",
    "KernelByMode",
    "KernelForecast",
    "KernelPolicy",
    "KernelSum",
    "Labels",
    "Method",
    "Momentum",
    "Norms",
    "Observer",
    "Oracle",
    "PlainOracle",
    "Problem",
    "ProblemParts",
    "Progress",
    "Reconstruction",
    "Registrar",
    "Regularizer",
    "ResolvedProblem",
    "Result",
    "ScalarPenalty",
    "Selector",
    "Separable",
    "Smad",
    "SmoothPart",
    "SmoothRegularizer",
    "Sparsity",
    "Start",
    "State",
    "Status",
    "StepRule",
    "StopRule",
    "Subgradient",
    "Sweep",
    "TakenStep",
    "Trait",
    "Trial",
    "Update",
    "Verdict",
    "WrappedRegularizer",
    "Zero",
    "assumptions_met",
    "balanced",
    "bregman_prox",
    "catalog",
    "compose",
    "errors",
    "feasible",
    "hookimpl",
    "hookspec",
    "iterate",
    "load",
    "load_plugin",
    "make",
    "nesterov",
    "parse_spec",
    "percent",
    "plot",
    "plugins",
    "report",
    "resolve_data",
    "resolve_prox",
    "resume",
    "solve",
    "testing",
    "tikhonov",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("bregopt.testing")
    if name not in _LAZY:
        raise AttributeError(f"module 'bregopt' has no attribute {name!r}")
    module, _, its_name = _LAZY[name].partition(":")
    value = getattr(importlib.import_module(f"bregopt.{module}"), its_name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
