"""Names of parts, by kind, with who provides them."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from attrs import frozen

from bregopt.engine.method import Method
from bregopt.errors import DuplicateNameError, PluginError, UnknownNameError
from bregopt.parts.block import ClosedFormBlock
from bregopt.parts.kernel import KernelPolicy
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.smooth import SmoothPart
from bregopt.problem import Problem, Start
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import StepRule
from bregopt.rules.stopping import StopRule

KINDS: Mapping[str, type] = {
    "kernel": KernelPolicy,
    "regularizer": Regularizer,
    "smooth": SmoothPart,
    "block": ClosedFormBlock,
    "method": Method,
    "extrapolation": Extrapolation,
    "step": StepRule,
    "stop": StopRule,
    "start": Start,
    "problem": Problem,
}

Factory = Callable[..., Any]


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


def kind_of(interface: type) -> str:
    """The kind that an interface class stands for."""
    for kind, known in KINDS.items():
        if isinstance(interface, type) and issubclass(interface, known):
            return kind
    raise PluginError(f"registry.add: {interface!r} is not an interface of bregopt, such as bregopt.Regularizer.")


@final
class Registry:
    """What is registered. A name with two providers is an error to whoever uses it."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], list[Entry]] = {}

    def add(self, interface: type, name: str, factory: Factory, *, provider: str) -> Entry:
        """Put ``factory`` under ``name``; a second provider of a name is kept, and reported when it is used."""
        if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
            raise PluginError(f"registry.add: a name holds letters, digits, '-' and '_' only. Got {name!r} instead.")
        if not callable(factory):
            raise PluginError(f"registry.add: '{name}' must come with a class or function. Got {factory!r} instead.")
        entry = Entry(kind_of(interface), name, provider, factory)
        self._entries.setdefault((entry.kind, name), []).append(entry)
        return entry

    def remove(self, provider: str) -> None:
        """Forget everything a provider added."""
        for key, entries in list(self._entries.items()):
            self._entries[key] = [entry for entry in entries if entry.provider != provider]
            if not self._entries[key]:
                del self._entries[key]

    def get(self, kind: str, name: str) -> Entry:
        check_kind(kind)
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
            check_kind(kind)
        found = [entry for entries in self._entries.values() for entry in entries if kind in (None, entry.kind)]
        return sorted(found, key=lambda entry: (list(KINDS).index(entry.kind), entry.name, entry.provider))

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


def duplicate(entries: list[Entry]) -> str:
    """The sentence about one name with several providers."""
    providers = " and ".join(entry.provider for entry in entries)
    return (
        f"The {entries[0].kind} '{entries[0].name}' is provided by {providers}. "
        "Block one of them with BREGOPT_BLOCK_PLUGINS, or rename it."
    )


def check_kind(kind: str) -> None:
    """Refuse a kind that does not exist."""
    if kind not in KINDS:
        raise UnknownNameError(f"There is no kind of part named {kind!r}. {nearest(str(kind), KINDS)}")
