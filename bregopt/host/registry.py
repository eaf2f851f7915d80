"""Names of parts, by kind, with who provides them."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from attrs import field, frozen

from bregopt.engine.method import Method, Selector
from bregopt.errors import DuplicateNameError, PluginError, UnknownNameError
from bregopt.part_errors import mistake
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.smooth import SmoothPart
from bregopt.problem import Problem, ResolvedProblem, Start
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import StepRule
from bregopt.rules.stopping import StopRule

Factory = Callable[..., Any]
CORE = "bregopt"
"""Who provides the kinds that are always there."""


@final
@frozen
class Kind:
    """A kind of part: a word, the interface that its parts implement, and the checks they have to stand."""

    name: str
    interface: type
    provider: str = CORE
    checks: Mapping[str, Callable[..., None]] = field(factory=dict)
    """by name, functions of (part, RandomPoints); those of the core's own kinds are in ``bregopt.testing``"""
    alternative: type | None = None
    """what may stand in its place: a selector for a method, a resolved problem for a stated one"""

    @property
    def types(self) -> tuple[type, ...]:
        """What a part of the kind is an instance of."""
        return (self.interface,) if self.alternative is None else (self.interface, self.alternative)


KINDS = (
    Kind("kernel", KernelPolicy),
    Kind("regularizer", Regularizer),
    Kind("smooth", SmoothPart),
    Kind("block", ClosedFormBlock),
    Kind("method", Method, alternative=Selector),
    Kind("extrapolation", Extrapolation),
    Kind("step", StepRule),
    Kind("stop", StopRule),
    Kind("start", Start),
    Kind("problem", Problem, alternative=ResolvedProblem),
)
"""The kinds of the core; plugins declare more."""


@final
@frozen
class Entry:
    """One registered part: a class or function under a name."""

    kind: str
    name: str
    provider: str
    factory: Factory

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or with all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not names:
        return "None is known: see 'bregopt plugins' for plugins that are blocked or failed."
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(names)}."


@final
class Registry:
    """What is registered. A name with two providers is an error to whoever uses it."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {kind.name: kind for kind in KINDS}
        self._entries: dict[tuple[str, str], list[Entry]] = {}

    def declare(self, kind: Kind) -> None:
        """Take in one more kind of part."""
        if not _is_name(kind.name):
            raise PluginError(
                f"registry.kind: a name holds letters, digits, '-' and '_' only. Got {kind.name!r} instead."
            )
        if not inspect.isclass(kind.interface):
            raise PluginError(
                f"registry.kind: '{kind.name}' must come with the class its parts derive from. "
                f"Got {kind.interface!r} instead."
            )
        if kind.name in self.kinds:
            raise DuplicateNameError(f"the kind '{kind.name}' is declared by {self.kinds[kind.name].provider} already")
        self.kinds[kind.name] = kind

    def kind(self, name: str) -> Kind:
        """The kind of that name, or an error that says which there are."""
        if name not in self.kinds:
            raise UnknownNameError(f"There is no kind of part named {name!r}. {nearest(str(name), self.kinds)}")
        return self.kinds[name]

    def kind_of(self, interface: type) -> Kind:
        """The kind that an interface class stands for."""
        for kind in reversed(self.kinds.values()):  # a plugin's interface may derive from one of the core's
            if isinstance(interface, type) and issubclass(interface, kind.types):
                return kind
        raise PluginError(
            f"registry.add: {interface!r} is not an interface of bregopt or of a plugin, such as bregopt.Regularizer; "
            "registry.kind(name, interface) declares a new one."
        )

    def add(self, interface: type, name: str, factory: Factory, *, provider: str) -> Entry:
        """Put ``factory`` under ``name``; a second provider of a name is kept, and reported when it is used."""
        if not _is_name(name):
            raise PluginError(f"registry.add: a name holds letters, digits, '-' and '_' only. Got {name!r} instead.")
        if not callable(factory):
            raise PluginError(f"registry.add: '{name}' must come with a class or function. Got {factory!r} instead.")
        if inspect.isabstract(factory):
            lacking = ", ".join(sorted(getattr(factory, "__abstractmethods__", ())))
            raise mistake(
                factory, "", f"is registered as '{name}', and lacks what every {interface.__name__} has: {lacking}"
            )
        entry = Entry(self.kind_of(interface).name, name, provider, factory)
        self._entries.setdefault((entry.kind, name), []).append(entry)
        return entry

    def remove(self, provider: str) -> None:
        """Forget everything a provider added or declared."""
        self.kinds = {name: kind for name, kind in self.kinds.items() if kind.provider != provider}
        for key, entries in list(self._entries.items()):
            self._entries[key] = [entry for entry in entries if entry.provider != provider]
            if not self._entries[key]:
                del self._entries[key]

    def get(self, kind: str, name: str) -> Entry:
        self.kind(kind)
        entries = self._entries.get((kind, name))
        if not entries:
            known = [other for k, other in self._entries if k == kind]
            raise UnknownNameError(f"There is no {kind} named '{name}'. {nearest(name, known)}")
        if len(entries) > 1:
            raise DuplicateNameError(duplicate(entries))
        return entries[0]

    def entries(self, kind: str | None = None) -> list[Entry]:
        """Every entry, sorted by kind and name."""
        if kind is not None:
            self.kind(kind)
        kinds = list(self.kinds)
        found = [entry for entries in self._entries.values() for entry in entries if kind in (None, entry.kind)]
        known = [entry for entry in found if entry.kind in kinds]
        return sorted(known, key=lambda entry: (kinds.index(entry.kind), entry.name, entry.provider))

    def conflicts(self, provider: str) -> list[str]:
        """The sentences about names that this provider shares with another."""
        shared = [entries for entries in self._entries.values() if len(entries) > 1]
        return [duplicate(entries) for entries in shared if any(e.provider == provider for e in entries)]


@final
@frozen
class Registrar:
    """The registry as one plugin sees it: what is added carries that plugin's name."""

    registry: Registry
    provider: str

    def add(self, interface: type, name: str, factory: Factory) -> None:
        """``registry.add(Regularizer, "l1", L1)``: the interface tells the kind, the factory makes the part."""
        self.registry.add(interface, name, factory, provider=self.provider)

    def kind(self, name: str, interface: type, checks: Mapping[str, Callable[..., None]] | None = None) -> None:
        """``registry.kind("loss", EntrywiseLoss)``: a new kind of part, for this plugin and every other.

        ``checks`` are functions of (part, RandomPoints) by name; ``bregopt check`` runs them on every part of the kind.
        """
        self.registry.declare(Kind(name, interface, self.provider, dict(checks or {})))


def duplicate(entries: list[Entry]) -> str:
    """The sentence about one name with several providers."""
    providers = " and ".join(entry.provider for entry in entries)
    return (
        f"The {entries[0].kind} '{entries[0].name}' is provided by {providers}. "
        "Block one of them with BREGOPT_BLOCK_PLUGINS, or rename it."
    )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
