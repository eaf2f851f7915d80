"""Finding plugins and loading them, so that a broken one costs nothing but itself."""

import importlib.metadata
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, final

import pluggy
from attrs import frozen

from bregopt.errors import DuplicateNameError, FileError, PluginError, PluginWarning
from bregopt.host import hookspecs
from bregopt.host.registry import Registrar, Registry, nearest
from bregopt.part_errors import author_of

ACTIVE, BLOCKED, FAILED = "active", "blocked", "failed"


@final
@frozen
class Plugin:
    """One plugin that was found, and what became of it."""

    name: str
    provider: str
    """the distribution, or the file"""
    version: str
    status: str
    reason: str = ""

    @property
    def label(self) -> str:
        """How messages name it."""
        version = f" {self.version}" if self.version else ""
        return f"plugin '{self.name}' ({self.provider}{version})"


@final
class Host:
    """The pluggy manager, the registry and the list of plugins; loads once, when first asked."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.registry = Registry()
        self.plugins: list[Plugin] = []
        self._lock = threading.RLock()
        self._begun = self._loaded = False

    def load(self) -> None:
        """Load every selected entry point; what fails is reported by a PluginWarning and skipped.

        A second thread waits until the first has loaded them; a plugin that asks for a part while it is being loaded
        gets those that are there already.
        """
        if self._loaded:
            return
        with self._lock:
            if not self._begun:
                self._begun = True
                self._load_entry_points()
                self._loaded = True

    def _load_entry_points(self) -> None:
        only, without = _names("BREGOPT_LOAD_PLUGINS"), _names("BREGOPT_BLOCK_PLUGINS") or set()
        entry_points = list(_entry_points())
        for name in sorted((only or set()) | without):
            if name not in {entry_point.name for entry_point in entry_points}:
                hint = nearest(name, (entry_point.name for entry_point in entry_points))
                warnings.warn(
                    f"No plugin is named '{name}', as the environment has it. {hint}", PluginWarning, stacklevel=2
                )
        for entry_point in entry_points:
            dist = entry_point.dist
            plugin = Plugin(
                name=entry_point.name,
                provider=dist.name if dist else entry_point.value,
                version=dist.version if dist else "",
                status=BLOCKED,
            )
            if entry_point.name in without:
                self._keep(plugin, "named in BREGOPT_BLOCK_PLUGINS")
            elif only is not None and entry_point.name not in only:
                self._keep(plugin, "not named in BREGOPT_LOAD_PLUGINS")
            else:
                self._try(plugin, entry_point)

    def load_file(self, path: str | Path) -> Plugin:
        """Load a plugin from a single file; here an error is raised, since somebody asked for that file."""
        path = Path(path)
        if not path.is_file():
            raise FileError(f"The plugin file {str(path)!r} does not exist.")
        return self._load_now(Plugin(path.stem, str(path), "", ACTIVE), f"plugin file {str(path)!r}", path)

    def load_object(self, module: object) -> Plugin:
        """Load a plugin that is at hand already: a module, or any object whose attributes are hooks."""
        name = getattr(module, "__name__", type(module).__name__)
        return self._load_now(Plugin(name, f"object {name}", "", ACTIVE), f"plugin {name!r}", module)

    def _load_now(self, plugin: Plugin, what: str, source: object) -> Plugin:
        self.load()
        self._undo(plugin)  # loaded before: it is replaced
        try:
            self._register(plugin, _module_from(source) if isinstance(source, Path) else source)
        except (Exception, SystemExit) as error:  # a plugin may not end the program
            self._undo(plugin)
            raise PluginError(f"The {what} cannot be loaded: {_sentence(error)}") from error
        conflicts = self.registry.conflicts(plugin.label)
        if conflicts:
            self._undo(plugin)
            raise DuplicateNameError(" ".join(conflicts))
        self.plugins.append(plugin)
        return plugin

    def _try(self, plugin: Plugin, entry_point: importlib.metadata.EntryPoint) -> None:
        twin = next((p for p in self.plugins if p.name == plugin.name and p.status == ACTIVE), None)
        try:
            if twin is not None:
                raise DuplicateNameError(f"the plugin name is taken by {twin.label} already")
            self._register(plugin, entry_point.load())
        except (Exception, SystemExit) as error:  # a plugin may not end the program
            self._undo(plugin)
            failed = self._keep(plugin, _sentence(error), FAILED)
            warnings.warn(f"The {failed.label} is skipped: {failed.reason}", PluginWarning, stacklevel=2)
        else:
            self._keep(plugin, " ".join(self.registry.conflicts(plugin.label)), ACTIVE)

    def _register(self, plugin: Plugin, module: object) -> None:
        hooks = _hooks(module)
        self.manager.register(module, plugin.label)
        if "bregopt_register" in hooks:
            hooks["bregopt_register"](registry=Registrar(self.registry, plugin.label))

    def _undo(self, plugin: Plugin) -> None:
        self.plugins = [other for other in self.plugins if other.label != plugin.label]
        self.registry.remove(plugin.label)
        if self.manager.has_plugin(plugin.label):
            self.manager.unregister(name=plugin.label)

    def _keep(self, plugin: Plugin, reason: str, status: str = BLOCKED) -> Plugin:
        kept = Plugin(plugin.name, plugin.provider, plugin.version, status, reason)
        self.plugins.append(kept)
        return kept


def _hooks(module: object) -> dict[str, Callable[..., Any]]:
    """The hooks a plugin implements; a misspelt or unmarked one is an error."""
    known = {name for name in vars(hookspecs) if name.startswith("bregopt_")}
    hooks = {}
    for name in dir(module):
        function = getattr(module, name, None)
        marked = getattr(function, f"{hookspecs.GROUP}_impl", None) is not None
        if marked and name not in known:
            raise PluginError(f"it implements an unknown hook '{name}'. {nearest(name, known)}")
        if name in known and not marked:
            raise PluginError(f"its function '{name}' is not marked with @bregopt.hookimpl")
        if marked and function is not None:
            hooks[name] = function
    if not hooks:
        raise PluginError("it implements no hook; add '@bregopt.hookimpl def bregopt_register(registry): ...'")
    return hooks


def _names(variable: str) -> set[str] | None:
    text = os.environ.get(variable)
    return None if text is None else {name.strip() for name in text.split(",") if name.strip()}


def _entry_points() -> Iterator[importlib.metadata.EntryPoint]:
    found = importlib.metadata.entry_points(group=hookspecs.GROUP)
    yield from sorted(found, key=lambda e: (e.dist is None or e.dist.name != "bregopt", e.name))


def _module_from(path: Path) -> ModuleType:
    name = f"bregopt_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _sentence(error: BaseException) -> str:
    text = str(error) or "no message"
    if isinstance(error, (PluginError, DuplicateNameError)):
        return text
    return f"{type(error).__name__}: {text}{author_of(error)}"
