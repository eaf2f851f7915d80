"""Names of parts, by kind, with who provides them."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
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
CLOSE, CUTOFF, LONG = 3, 0.7, 4
"""How many names a hint holds at most, how near they are, and the letters of a word that is looked for within them."""
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
@frozen(eq=False)
class Entry:
    """One registered part: a class or function under a name."""

    kind: str
    name: str
    provider: str
    factory: Factory
    aliases: tuple[str, ...] = ()
    """other names that people know it by"""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, then its aliases."""
        return (self.name, *self.aliases)

    def answers_to(self, name: str) -> bool:
        """Whether one of its names is this one, but for case and hyphens."""
        return any(_form(it) == _form(name) for it in self.names)

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known names, three at most, or else where all of them are listed."""
    return closest(name, {it: it for it in known})


def closest(name: str, known: Mapping[str, str]) -> str:
    """The hint for names that stand for others: those are told."""
    forms = {_form(it): it for it in known}
    near = difflib.get_close_matches(_form(name), sorted(forms), n=CLOSE, cutoff=CUTOFF)
    within = [it for it in sorted(forms) if len(_form(name)) >= LONG and _form(name) in it]
    found = [forms[it] for it in dict.fromkeys([*near, *within])][:CLOSE]
    hints = {known[it]: "" if known[it] == it else f" ({it})" for it in reversed(found)}
    names = sorted(set(known.values()))
    if not names:
        return "None is known: see 'bregopt plugins' for plugins that are blocked or failed."
    if hints or len(names) <= CLOSE:
        listed = [f"'{it}'{also}" for it, also in reversed(hints.items())] or [f"'{it}'" for it in names]
        return f"Did you mean {' or '.join(listed)}?" if hints else f"Known: {', '.join(listed)}."
    return f"'bregopt plugins' lists the {len(names)} that there are."


def _form(name: str) -> str:
    """A name without its case, hyphens and underscores, in which people differ: ``ElasticNet`` is ``elastic-net``."""
    return name.lower().replace("-", "").replace("_", "")


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

    def add(self, interface: type, name: str, factory: Factory, *, provider: str, aliases: Sequence[str] = ()) -> Entry:
        """Put ``factory`` under its names; a second provider of a name is kept, and reported when it is used."""
        for it in (name, *([aliases] if isinstance(aliases, str) else aliases)):
            if not _is_name(it):
                raise PluginError(f"registry.add: a name holds letters, digits, '-' and '_' only. Got {it!r} instead.")
        if isinstance(aliases, str):
            raise PluginError(
                f"registry.add: the aliases of '{name}' must be a tuple of names. Got {aliases!r} instead."
            )
        if not callable(factory):
            raise PluginError(f"registry.add: '{name}' must come with a class or function. Got {factory!r} instead.")
        if inspect.isabstract(factory):
            lacking = ", ".join(sorted(getattr(factory, "__abstractmethods__", ())))
            raise mistake(
                factory, "", f"is registered as '{name}', and lacks what every {interface.__name__} has: {lacking}"
            )
        entry = Entry(self.kind_of(interface).name, name, provider, factory, tuple(aliases))
        for it in entry.names:
            self._entries.setdefault((entry.kind, it), []).append(entry)
        return entry

    def remove(self, provider: str) -> None:
        """Forget everything a provider added or declared."""
        self.kinds = {name: kind for name, kind in self.kinds.items() if kind.provider != provider}
        for key, entries in list(self._entries.items()):
            self._entries[key] = [entry for entry in entries if entry.provider != provider]
            if not self._entries[key]:
                del self._entries[key]

    def get(self, kind: str, name: str) -> Entry:
        """The part of that name or alias, else the only one whose name differs in case and hyphens alone."""
        self.kind(kind)
        named = {it: entries for (k, it), entries in self._entries.items() if k == kind}
        alike = [it for it in named if _form(it) == _form(name)]
        found = named.get(name) or [entry for it in alike for entry in named[it]]
        entries = list(dict.fromkeys(found))
        if not entries:
            known = {it: entries[0].name for it, entries in named.items()}
            raise UnknownNameError(f"There is no {kind} named '{name}'. {closest(name, known)}")
        if len(entries) > 1:
            raise DuplicateNameError(duplicate(name, entries))
        return entries[0]

    def entries(self, kind: str | None = None) -> list[Entry]:
        """Every entry, sorted by kind and name."""
        if kind is not None:
            self.kind(kind)
        kinds = list(self.kinds)
        every = dict.fromkeys(entry for entries in self._entries.values() for entry in entries)
        known = [entry for entry in every if kind in (None, entry.kind) and entry.kind in kinds]
        return sorted(known, key=lambda entry: (kinds.index(entry.kind), entry.name, entry.provider))

    def conflicts(self, provider: str) -> list[str]:
        """The sentences about names that this provider shares with another, or has twice."""
        shared = {name: entries for (_, name), entries in self._entries.items() if len(entries) > 1}
        return [duplicate(name, them) for name, them in shared.items() if any(e.provider == provider for e in them)]


@final
@frozen
class Registrar:
    """The registry as one plugin sees it: what is added carries that plugin's name."""

    registry: Registry
    provider: str

    def add(self, interface: type, name: str, factory: Factory, aliases: Sequence[str] = ()) -> None:
        """``registry.add(Regularizer, "l1", L1)``: the interface tells the kind, the factory makes the part.

        ``aliases`` are other names that people know it by, as in ``aliases=("lasso",)``.
        """
        self.registry.add(interface, name, factory, provider=self.provider, aliases=aliases)

    def kind(self, name: str, interface: type, checks: Mapping[str, Callable[..., None]] | None = None) -> None:
        """``registry.kind("loss", EntrywiseLoss)``: a new kind of part, for this plugin and every other.

        ``checks`` are functions of (part, RandomPoints) by name; ``bregopt check`` runs them on every part of the kind.
        """
        self.registry.declare(Kind(name, interface, self.provider, dict(checks or {})))


def duplicate(name: str, entries: Sequence[Entry]) -> str:
    """The sentence about one name with several providers."""
    providers = " and ".join(
        entry.provider + (f", as another name of '{entry.name}'" if entry.name != name else "") for entry in entries
    )
    return (
        f"The {entries[0].kind} '{name}' is provided by {providers}. "
        "Block one of them with BREGOPT_BLOCK_PLUGINS, or rename it."
    )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
