"""What numba compiles, kept on disk: files are checked before they are used, and no failure of the disk ends a run."""

import hashlib
import inspect
import os
import stat
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, final

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
from numba.misc.appdirs import AppDirs

from bregopt.errors import FaultWarning

SEAL = 32
"""Bytes at the end of a file: the checksum of the rest."""
FORMAT = 2
"""Changed when code that was kept before is not to be used any more."""
GIVEN, BESIDE, OF_USER = CompileResultCacheImpl._locator_classes[:3]
"""numba's folders: the one of NUMBA_CACHE_DIR, ``__pycache__`` beside the source, and one in the home folder."""
ADVICE = "Set NUMBA_CACHE_DIR to a folder that can be written."

_told: set[str] = set()
"""What was said already in this process."""
_folders: set[str] = set()
"""Where the loops of this process are kept."""


def cache_of(loop: Callable[..., Any]) -> Any:
    """The place for the compiled forms of a loop: a folder, or none where none can be written."""
    try:
        return CheckedCache(loop)
    except Exception as error:  # whatever the disk or numba does
        if os.path.exists(inspect.getfile(loop)):  # not typed in at a prompt
            _tell("cannot be kept", f": {error}. {ADVICE}")
        return NullCache()


def folders() -> list[Path]:
    """Where the loops that this process has met are kept."""
    return sorted(map(Path, _folders))


def kept_bytes(folder: Path) -> int:
    """The size of all loops that are kept there, by this process or others."""
    return sum(file.stat().st_size for file in folder.glob("*.checked.*nb[ic]"))


@final
class Place(CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
    """The folder of a loop: the first of numba's that can be written, else one for temporary files."""

    instead = ""
    """what to say of a folder that was wanted, and cannot be written"""

    def __init__(self, loop: Callable[..., Any]) -> None:
        if not os.path.isabs(_home()):
            self._locator_classes = [GIVEN, BESIDE]  # numba would make a folder named ~
        try:
            super().__init__(loop)
            if config.CACHE_DIR and not isinstance(self.locator, GIVEN):
                kept = self.locator.get_cache_path()
                self.instead = f" in {config.CACHE_DIR}, the folder of NUMBA_CACHE_DIR: they are kept in {kept}"
        except RuntimeError:  # it has found none
            file = inspect.getfile(loop)
            if not os.path.exists(file):
                raise
            self._locator = folder = TemporaryFolder(loop, file)
            folder.ensure_cache_path()
            name = f"{Path(file).stem}.{loop.__qualname__}"
            self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))
            self.instead = f" in a folder that lasts: they are kept in {folder.root}"

    def others(self, loop: Callable[..., Any]) -> Iterator[str]:
        """The folders of numba but for the one that was taken: an image may bring one that can only be read."""
        file = inspect.getfile(loop)
        asked = [GIVEN] * bool(config.CACHE_DIR) + [BESIDE] + [OF_USER] * os.path.isabs(_home())
        paths = (kind(loop, file).get_cache_path() for kind in asked)
        return (path for path in paths if path != self.locator.get_cache_path())


class TemporaryFolder(GIVEN):  # type: ignore[misc, valid-type]  # numba has no types
    """A folder among the temporary ones, which nobody else may write into: machine code is read from it."""

    def __init__(self, loop: Callable[..., Any], file: str) -> None:
        super().__init__(loop, file)
        owner = os.getuid() if hasattr(os, "getuid") else ""
        self.root = os.path.join(tempfile.gettempdir(), f"bregopt-{owner}")
        self._cache_path = os.path.join(self.root, self.get_suitable_cache_subpath(file))

    def ensure_cache_path(self) -> None:
        with suppress(FileExistsError):
            os.mkdir(self.root, 0o700)
        found = os.lstat(self.root)
        shared = hasattr(os, "getuid") and (found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077)
        if shared or not stat.S_ISDIR(found.st_mode):
            raise PermissionError(f"others may write into {self.root}")
        super().ensure_cache_path()


def _home() -> str:
    """The folder for caches of this user; a relative path where there is no home."""
    return str(AppDirs(appname="numba", appauthor=False).user_cache_dir)


@final
class CheckedCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """numba's cache of one loop: without an entry that can be used, the loop is compiled."""

    _impl_class = Place

    def __init__(self, loop: Callable[..., Any]) -> None:
        super().__init__(loop)
        name, stamp = f"{self._impl.filename_base}.checked", self._impl.locator.get_source_stamp()
        self._cache_file = CheckedFiles(self._cache_path, name, stamp)
        others = [CheckedFiles(path, name, stamp) for path in self._impl.others(loop)]
        self._read_only = [files for files in others if files.there and not os.access(files.folder, os.W_OK)]
        _folders.add(self._cache_path)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """What numba takes, but for a closure: it may hold compiled functions, which numba has no lasting name for."""
        return FORMAT, sig, codegen.magic_tuple(), hashlib.sha256(repr(fingerprint(self._py_func)).encode()).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        for files in (self._cache_file, *self._read_only):
            try:
                kept = files.load(key)
                if kept is not None:
                    return self._impl.rebuild(target_context, kept)
            except Exception as error:  # damage shows in any way
                _tell("cannot be read", f": {files.folder}: {error}. They are compiled and kept again.")
                if files is self._cache_file:
                    self._attempt(files.remove)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._attempt(lambda: super(CheckedCache, self).save_overload(sig, data))
        if self._enabled and self._impl.instead:
            _tell("cannot be kept", f"{self._impl.instead}. {ADVICE}")

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.disable()
            _tell("cannot be kept", f": {self._cache_path}: {error}. Free some space, or set NUMBA_CACHE_DIR.")


@final
class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """numba's files of one loop: an index of signatures, and the machine code for each. All end with a checksum."""

    def save(self, key: Any, data: Any) -> None:
        """First the code, then the index, and the code under a name of its own: other processes may save theirs."""
        names = self._load_index()
        if not names and self.there:
            self.remove()  # what is left of an earlier version of the loop
        name = names.get(key) or f"{self._stem}.{uuid.uuid4().hex[:16]}.nbc"
        self._save_data(name, data)
        self._save_index(names | {key: name})

    def remove(self) -> None:
        """The index and the code of the loop."""
        for path in Path(self._cache_path).iterdir():
            if path.name.startswith(f"{self._stem}.") and path.suffix in (".nbi", ".nbc"):
                path.unlink(missing_ok=True)

    @property
    def there(self) -> bool:
        return os.path.exists(self._index_path)

    @property
    def folder(self) -> str:
        return str(self._cache_path)

    @property
    def _stem(self) -> str:
        return Path(self._index_name).stem

    def _load_index(self) -> Any:
        if self.there:
            _check(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(self._data_path(name))
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


def fingerprint(value: Any) -> Any:
    """What a loop is made of: its code, the state of its file, and the same of what it encloses."""
    function = getattr(value, "py_func", value)  # of what numba made of it
    code = getattr(function, "__code__", None)
    if code is None:
        return value
    try:
        stamp = os.stat(code.co_filename)
        file: Any = (code.co_filename, stamp.st_mtime, stamp.st_size)
    except OSError:
        file = None
    enclosed = [fingerprint(cell.cell_contents) for cell in function.__closure__ or ()]
    constants = [getattr(constant, "co_code", constant) for constant in code.co_consts]
    return code.co_qualname, code.co_code, constants, code.co_names, file, enclosed


def _check(path: str) -> None:
    """Refuse a file without its checksum: machine code that is damaged would crash the process."""
    content = Path(path).read_bytes()
    if hashlib.sha256(content[:-SEAL]).digest() != content[-SEAL:]:
        raise ValueError(f"{Path(path).name} is damaged")


def _tell(what: str, why: str) -> None:
    if what not in _told:
        _told.add(what)
        warnings.warn(f"Compiled loops {what}{why}", FaultWarning, stacklevel=2)
