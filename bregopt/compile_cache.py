"""What numba compiles, kept on disk: files are checked before they are used, and no failure of the disk ends a run."""

import hashlib
import inspect
import os
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, final

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from bregopt.errors import FaultWarning

SEAL = 32
"""Bytes at the end of a file: the checksum of the rest."""
FORMAT = 2
"""Changed when code that was kept before is not to be used any more."""

_told: set[str] = set()
"""What was said already in this process."""


def cache_of(loop: Callable[..., Any]) -> Any:
    """The place for the compiled forms of a loop: a folder, or none where none can be written."""
    try:
        return CheckedCache(loop)
    except Exception as error:  # whatever the disk or numba does
        if os.path.exists(inspect.getfile(loop)):  # not typed in at a prompt
            _tell("cannot be kept", f"{error}. Set NUMBA_CACHE_DIR to a folder that can be written.")
        return NullCache()


@final
class CheckedCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """numba's cache of one loop: without an entry that can be used, the loop is compiled."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        super().__init__(loop)
        name = f"{self._impl.filename_base}.checked"
        self._cache_file = CheckedFiles(self._cache_path, name, self._impl.locator.get_source_stamp())

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """What numba takes, but for a closure: it may hold compiled functions, which numba has no lasting name for."""
        return FORMAT, sig, codegen.magic_tuple(), hashlib.sha256(repr(fingerprint(self._py_func)).encode()).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # damage shows in any way
            _tell("cannot be read", f"{self._cache_path}: {error}. They are compiled and kept again.")
            self._attempt(self._cache_file.remove)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._attempt(lambda: super(CheckedCache, self).save_overload(sig, data))

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.disable()
            _tell("cannot be kept", f"{self._cache_path}: {error}. Free some space, or set NUMBA_CACHE_DIR.")


@final
class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """numba's files of one loop: an index of signatures, and the machine code for each. All end with a checksum."""

    def save(self, key: Any, data: Any) -> None:
        """First the code, then the index, and the code under a name of its own: other processes may save theirs."""
        names = self._load_index()
        if not names and os.path.exists(self._index_path):
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
    def _stem(self) -> str:
        return Path(self._index_name).stem

    def _load_index(self) -> Any:
        if os.path.exists(self._index_path):
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
        warnings.warn(f"Compiled loops {what}: {why}", FaultWarning, stacklevel=2)
