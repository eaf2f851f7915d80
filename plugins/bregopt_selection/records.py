"""Finished fits in a folder: a small JSON file for each, and of each seed the factors that the next fit starts from."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Blocks
from bregopt.errors import FileError
from bregopt_selection.curve import Fit

SETTINGS = "settings.json"
AFTER = "started_from"
"""The value whose factors a fit was started from."""


@final
@frozen
class Records:
    """A folder of fits of the same data with the same settings."""

    folder: Path
    variable: str

    @classmethod
    def open(cls, folder: Path, variable: str, settings: Mapping[str, Any]) -> "Records":
        """The folder, made where there is none; one that holds fits with other settings is refused."""
        path = folder / SETTINGS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        except ValueError:
            raise FileError(f"The file {str(path)!r} is damaged. Remove the folder, or give another one.") from None
        except OSError as error:
            raise FileError(f"The folder {str(folder)!r} cannot be used: {error.strerror or error}.") from error
        if found is None:
            _write(path, json.dumps(settings, indent=2, ensure_ascii=False).encode())
        elif other := [name for name in settings if found.get(name) != settings[name]]:
            raise FileError(
                f"The folder {str(folder)!r} holds fits with another {' and another '.join(other)}. "
                "Give another folder, or remove this one."
            )
        return cls(folder, variable)

    def finished(self, seed: int, values: Sequence[float], warm: bool) -> list[Fit]:
        """The first fits of a seed that need not be made again: each started from the one before, the last at hand."""
        found: list[Fit] = []
        for value in values:
            after = found[-1].value if warm and found else None
            fit = self._read(seed, value, after)
            if fit is None:
                break
            found.append(fit)
        if warm and found and len(found) < len(values) and self.factors(found[-1]) is None:
            return []
        return found

    def _read(self, seed: int, value: float, after: float | None) -> Fit | None:
        try:
            record = json.loads(self._path(seed, value, "json").read_text(encoding="utf-8"))
            return Fit.of_json(record) if record.pop(AFTER) == after else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # it is missing or damaged, and made again

    def factors(self, fit: Fit) -> Blocks | None:
        """The factors of a fit, where they are kept."""
        try:
            with np.load(self._path(fit.seed, fit.value, "npz"), allow_pickle=False) as arrays:
                return Blocks(**{name: arrays[name] for name in arrays.files})
        except Exception:  # a damaged archive makes numpy and zipfile raise anything; the seed is fitted anew
            return None

    def keep(self, fit: Fit, Y: Blocks | None, after: float | None) -> None:
        """Write a fit down, its factors first; those of the fit before are not needed any more."""
        if Y is not None:
            _write(self._path(fit.seed, fit.value, "npz"), lambda handle: np.savez(handle, **_arrays(Y)))
        record = json.dumps(fit.as_json() | {AFTER: after}, allow_nan=False)
        _write(self._path(fit.seed, fit.value, "json"), record.encode())
        if after is not None:
            self._path(fit.seed, after, "npz").unlink(missing_ok=True)

    def _path(self, seed: int, value: float, kind: str) -> Path:
        return self.folder / f"seed-{seed}-{self.variable}-{value}.{kind}"


def _arrays(Y: Blocks) -> dict[str, Any]:
    return {name: Y[name] for name in Y.names}


def _write(path: Path, content: bytes | Callable[[Any], object]) -> None:
    """Write a file beside its place, force it to the disk, and rename it: there is the old file or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as handle:
            handle.write(content) if isinstance(content, bytes) else content(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def fingerprint(value: Any) -> Any:
    """A value as settings hold it: JSON as it is, arrays by their shape and a digest, all else as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    parts = [value]
    if hasattr(value, "tocsr"):
        csr = value.tocsr()
        parts = [csr.data, csr.indices, csr.indptr]
    elif not hasattr(value, "__array__"):
        return repr(value)
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(array.astype(str).tobytes() if array.dtype.hasobject else array.data)
    return f"{'×'.join(map(str, value.shape))} {digest.hexdigest()[:32]}"
