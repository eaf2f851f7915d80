"""The instances to check: by the name of a part, from a plugin file, or every example of every plugin."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from attrs import frozen

from bregopt.errors import IncompatibleError, ParameterError, UnknownNameError
from bregopt.host.compose import build, catalog, examples, kinds, load_plugin
from bregopt.host.registry import Entry, closest
from bregopt.testing.kinds import checkable, why_unchecked

OF_PROBLEM = {"smooth": "smooth", "block": "block"}
"""Kinds that are checked within the problems they are part of, and where they stand there."""


@final
@frozen(eq=False)
class Instance:
    """A part with its kind and a label, and the code that makes it."""

    kind: str
    label: str
    part: Any
    code: str


def every_example() -> list[Instance]:
    """Every example of every kind that has checks; of a kind without examples, the parts made without arguments."""
    found = []
    for kind in (it.name for it in kinds()):
        found += list(_examples(kind)) or [instance for entry in catalog(kind) for instance in _default(entry)]
    return [instance for instance in found if checkable(instance.part)]


def named(text: str) -> list[Instance]:
    """The default and the examples of a registered part, given as ``name`` or ``kind:name``."""
    kind, _, name = text.rpartition(":")
    entries = [entry for entry in catalog(kind or None) if entry.name == name] or [
        entry for entry in catalog(kind or None) if entry.answers_to(name)
    ]
    if not entries:
        known = {it: entry.name for entry in catalog(kind or None) for it in entry.names}
        raise UnknownNameError(f"There is no {kind or 'part'} named '{name}'. {closest(name, known)}")
    return _checked(text, [instance for entry in entries for instance in _of_entry(entry)])


def in_file(path: str | Path) -> list[Instance]:
    """What a plugin file registers, made without arguments, and its own examples."""
    plugin = load_plugin(path)
    loading = f"bo.load_plugin({str(path)!r})\n"
    found = [instance for entry in catalog() if entry.provider == plugin.label for instance in _default(entry, loading)]
    for kind in (it.name for it in kinds()):
        own = examples(kind, plugin.label)
        found += [Instance(kind, label, part, loading + _example(kind, label)) for label, part in own]
    if not found and all(entry.provider != plugin.label for entry in catalog()):
        raise IncompatibleError(f"The plugin file {str(path)!r} has no parts to check: it registers none.")
    return _checked(f"the parts of {path}", found)


def _of_entry(entry: Entry) -> Iterator[Instance]:
    yield from _default(entry)
    if entry.kind in OF_PROBLEM:
        for instance in _examples("problem"):
            own = getattr(instance.part[0], OF_PROBLEM[entry.kind])
            if inspect.isclass(entry.factory) and isinstance(own, entry.factory):
                yield instance
        return
    for instance in _examples(entry.kind):
        if re.match(rf"{re.escape(entry.name)}(?![\w-])", instance.label):
            yield instance


def _default(entry: Entry, loading: str = "") -> Iterator[Instance]:
    """The part made without arguments, where its factory needs none."""
    try:
        part = build(entry, (), {})
    except ParameterError:
        return
    yield Instance(entry.kind, entry.name, part, f"{loading}part = bo.make({entry.kind!r}, {entry.name!r})")


def _examples(kind: str) -> Iterator[Instance]:
    for label, part in examples(kind):
        yield Instance(kind, label, part, _example(kind, label))


def _example(kind: str, label: str) -> str:
    return f"from bregopt.host.compose import examples\npart = dict(examples({kind!r}))[{label!r}]"


def _checked(what: str, found: list[Instance]) -> list[Instance]:
    usable = [instance for instance in found if checkable(instance.part)]
    if usable:
        return usable
    if found:
        of = {kind.name: kind for kind in kinds() if kind.name in {instance.kind for instance in found}}
        why = "; ".join(dict.fromkeys(why_unchecked(kind) for kind in of.values()))
        raise IncompatibleError(f"There are no checks for {what} ({', '.join(sorted(of))}): {why}.")
    raise IncompatibleError(
        f"There is no instance of {what} to check: its factory needs arguments, and no plugin gives an example. "
        "Implement the hook bregopt_examples(kind)."
    )
