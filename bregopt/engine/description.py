"""What a value is made of, as JSON: two descriptions tell whether a run is for the same problem and the same data."""

import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from bregopt.engine.saving import Json, is_attrs, is_plain, is_sparse

UNSAVED = "unsaved"
"""Metadata of an attrs field, ``field(metadata={"unsaved": True})``: it is no part of what a problem is, such as the
number of threads, and may differ when a run goes on."""
WHOLE = 2**20
"""Bytes of an array up to which its checksum is that of all entries; of a larger one it is that of a sample."""
SAMPLED = 2**16
"""Entries of a sample."""


def described(value: Any) -> Json:
    """What a value is made of, as JSON to be compared: of an array its shape, type and checksum."""
    if is_plain(value):
        return value if not isinstance(value, float) or math.isfinite(value) else repr(value)
    if isinstance(value, (tuple, list)):
        return [described(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "dtype": str(value.dtype), "checksum": checksum(value)}
    kind = type(value)
    entry: dict[str, Json] = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    if is_sparse(value):
        return entry | described({"shape": value.shape, "data": value.data, "indices": value.indices})
    if is_attrs(value):
        kept = [it.name for it in attrs.fields(kind) if not it.metadata.get(UNSAVED)]
        return entry | {name: described(getattr(value, name)) for name in kept}
    for name in ("shape", "dtype", "__qualname__"):
        if hasattr(value, name):
            entry[name] = str(getattr(value, name))
    return entry


def checksum(array: np.ndarray[Any, Any]) -> int:
    """The CRC-32 of an array, or of a sample of it where it is large."""
    if array.nbytes > WHOLE:
        places = np.linspace(0, array.size - 1, SAMPLED).astype(np.int64)
        array = array[np.unravel_index(places, array.shape)]
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def differences(then: Json, now: Json, where: str = "") -> Iterator[str]:
    """Where two descriptions differ, each as a phrase."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in {**then, **now}:
            yield from differences(then.get(key), now.get(key), f"{where}.{key}" if where else key)
    elif then != now and not _rounding(then, now):
        yield f"{where} was {_short(then)} and is {_short(now)}"


def _rounding(then: Json, now: Json) -> bool:
    """Whether two numbers differ by rounding, as sums do that a cluster adds up in another order."""
    return isinstance(then, float) and isinstance(now, float) and math.isclose(then, now, rel_tol=1e-12)


def _short(json: Json) -> str:
    text = str(json)
    return text if len(text) <= 60 else f"{text[:57]}…"
