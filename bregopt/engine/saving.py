"""Values as JSON and arrays, and back: what a method keeps in its states, a rule, a method, the parts of a problem.

Nothing is pickled. A value is made of numbers, text, tuples, lists, mappings, arrays, ``Blocks`` and attrs classes.
What belongs to the problem or to the method itself (the data, a regularizer, a kernel) is saved as its place there, so
it is that object again after loading. An object that occurs twice is saved once.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, final

import attrs
import numpy as np

from bregopt.blocks import Blocks, Layout, blocks_over
from bregopt.engine.bregman_step import PlannedStep
from bregopt.errors import FileError, IncompatibleError
from bregopt.parts.oracle import Evaluation
from bregopt.problem import ResolvedProblem

Json = Any
"""None, a truth value, a number, text, a list or a mapping of text to such."""


def is_attrs(value: object) -> bool:
    return attrs.has(type(value))


SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


def is_sparse(value: object) -> bool:
    return type(value).__module__.startswith("scipy.sparse") and type(value).__name__ in SPARSE


def is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, str)) or type(value) is float


# ---- what is not saved, but found again in the problem and the method


@final
class Places:
    """The objects that a problem and a method are made of, by where they are found, as in ``block.M``."""

    def __init__(self, problem: ResolvedProblem, method: object) -> None:
        self.problem = problem
        self.policies = [problem.kernel, *(other.policy for other in problem.others)]
        roots = {**parts_of(problem), **{f"kernel {k}": policy for k, policy in enumerate(self.policies)}}
        self.objects: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        for name, root in {**roots, "method": method}.items():
            for place, value in _inside(name, root):
                self.objects.setdefault(place, value)
                self.names.setdefault(id(value), place)

    @property
    def packages(self) -> set[str]:
        """Those that the objects come from."""
        return {package_of(type(value)) for value in self.objects.values()}

    def kernel_number(self, problem: ResolvedProblem, where: str) -> int:
        """Which of the kernels a variant of the problem uses."""
        for number, policy in enumerate(self.policies):
            if problem.kernel is policy:
                return number
        raise _cannot(where, problem, "a problem that is not the one being solved")


def parts_of(problem: ResolvedProblem) -> dict[str, Any]:
    """F, the W block and H."""
    H = problem.regularizer
    named = {f"H on {name}": part for name, part in H.named.items()}
    return {"smooth": problem.smooth, "block": problem.block, **named, "H": H[""]}


def package_of(kind: Any) -> str:
    """The package that a class or function comes from."""
    return str(kind.__module__).partition(".")[0]


def _inside(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value and what it is made of, each with its place."""
    if isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _inside(f"{place}[{k}]", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _inside(f"{place}[{key!r}]", item)
    elif not is_plain(value):
        yield place, value
        if is_attrs(value):
            for it in attrs.fields(type(value)):
                yield from _inside(f"{place}.{it.name}", getattr(value, it.name))


# ---- saving


@final
class Saver:
    """Turns values into JSON, and collects the arrays and objects that it refers to."""

    def __init__(self, places: Places | None = None) -> None:
        self._places = places
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.objects: list[Json] = []
        self._known: dict[int, Json] = {}
        self._kept: list[Any] = []  # so that no identity is used twice

    def save(self, value: Any, where: str) -> Json:
        """The value as JSON; ``where`` names it in an error."""
        if is_plain(value):
            return value if not isinstance(value, float) or math.isfinite(value) else {"float": repr(value)}
        if self._places is not None and id(value) in self._places.names:
            return {"place": self._places.names[id(value)]}
        if isinstance(value, tuple):
            return {"tuple": [self.save(item, f"{where}[{k}]") for k, item in enumerate(value)]}
        if isinstance(value, list):
            return [self.save(item, f"{where}[{k}]") for k, item in enumerate(value)]
        if isinstance(value, frozenset):
            return {"set": [self.save(item, where) for item in sorted(value)]}
        if isinstance(value, Mapping):
            pairs = [[self.save(k, where), self.save(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"map": pairs}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, ResolvedProblem) and self._places is not None:
            return {"problem": self._places.kernel_number(value, where)}
        if id(value) not in self._known:
            self._known[id(value)] = self._new(value, where)
            self._kept.append(value)
        return self._known[id(value)]

    def _new(self, value: Any, where: str) -> Json:
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(np.asarray(value), where, scalar=isinstance(value, np.generic))
        if isinstance(value, Blocks):
            shapes = [list(shape) for shape in value.layout.shapes]
            entry = {"names": list(value.names), "shapes": shapes, "flat": self.save(value.flat, where)}
            return self._object({"blocks": entry})
        if is_sparse(value):
            arrays = [self.save(array, where) for array in (value.data, value.indices, value.indptr)]
            return self._object({"sparse": [type(value).__name__, list(value.shape), *arrays]})
        if not is_attrs(value):
            raise _cannot(where, value, f"a {type(value).__module__}.{type(value).__qualname__}")
        kind = type(value)
        name = f"{kind.__module__}:{kind.__qualname__}"
        if _found(name) is not kind:
            raise _cannot(where, value, f"a {kind.__qualname__}, which does not stand at the top of a module")
        if isinstance(value, PlannedStep):
            self._note_extrapolated(value, where)
        fields = {
            it.alias: self.save(getattr(value, it.name), f"{where}.{it.name}")
            for it in attrs.fields(kind)
            if it.init and not (kind is Evaluation and it.name == "W")  # W(Y) is made again
        }
        return self._object({"class": name, "fields": fields})

    def _note_extrapolated(self, plan: PlannedStep, where: str) -> None:
        """Ȳ = Y + β(Y − Y_prev) is saved as that, where it is that to the last bit: it needs no room."""
        Y, Y_prev, Y_bar = plan.Y, plan.last.Y_prev, plan.model.Y_bar
        if plan.beta > 0 and np.array_equal(Y.plus(plan.beta, Y - Y_prev).flat, Y_bar.flat):
            parts = [self.save(Y, where), self.save(Y_prev, where), plan.beta]
            self._known.setdefault(id(Y_bar), self._object({"extrapolated": parts}))

    def _array(self, array: np.ndarray[Any, Any], where: str, *, scalar: bool) -> Json:
        if array.dtype.kind not in "fiubc":
            raise _cannot(where, array, f"an array of dtype {array.dtype}")
        self.arrays.append(array)
        kind = "scalar" if scalar else "array" if array.flags.writeable else "read-only"
        return {kind: len(self.arrays) - 1}

    def _object(self, entry: Json) -> Json:
        self.objects.append(entry)
        return {"object": len(self.objects) - 1}


def _cannot(where: str, value: object, what: str) -> IncompatibleError:
    return IncompatibleError(
        f"{where} cannot be saved: it is {what}. Numbers, text, tuples, lists, mappings, arrays and Blocks can be, and "
        "attrs classes of these that stand at the top of a module."
    )


# ---- loading


@final
class Loader:
    """Makes values of JSON again, with the arrays and objects that it refers to."""

    def __init__(
        self,
        arrays: Callable[[int], np.ndarray[Any, Any]],
        objects: list[Json],
        packages: Set[str],
        places: Places | None = None,
    ) -> None:
        self._arrays, self._objects, self._places = arrays, objects, places
        self._packages = packages
        """beside those of bregopt, whose classes a file may ask for"""
        self._made: dict[tuple[str, int], Any] = {}

    def load(self, json: Json) -> Any:
        """The value again."""
        if isinstance(json, list):
            return [self.load(item) for item in json]
        if not isinstance(json, dict):
            return json
        [(kind, content)] = json.items()
        if kind == "float":
            return float(content)
        if kind == "dtype":
            return np.dtype(content)
        if kind == "tuple":
            return tuple(self.load(item) for item in content)
        if kind == "set":
            return frozenset(self.load(item) for item in content)
        if kind == "map":
            return {self.load(key): self.load(value) for key, value in content}
        if kind == "place" and self._places is not None:
            return self._places.objects[content]
        if kind == "problem" and self._places is not None:
            return self._places.problem.using(self._places.policies[content])
        if (kind, content) not in self._made:
            self._made[kind, content] = self._new(kind, content)
        return self._made[kind, content]

    def _new(self, kind: str, content: Json) -> Any:
        if kind == "object":
            entry = self._objects[content]
            if "extrapolated" in entry:
                Y, Y_prev, beta = map(self.load, entry["extrapolated"])
                return Y.plus(beta, Y - Y_prev)
            if "sparse" in entry:
                return self._sparse(*entry["sparse"])
            return self._blocks(entry["blocks"]) if "blocks" in entry else self._instance(**entry)
        array = self._arrays(content)
        array.flags.writeable = kind == "array"
        return array[()] if kind == "scalar" else array

    def _blocks(self, entry: Json) -> Blocks:
        shapes = tuple(tuple(shape) for shape in entry["shapes"])
        return blocks_over(Layout(tuple(entry["names"]), shapes), self.load(entry["flat"]))

    def _sparse(self, kind: str, shape: Json, *arrays: Json) -> Any:
        import scipy.sparse

        if kind not in SPARSE:
            raise FileError(f"it holds a sparse matrix of the unknown kind {kind!r}")
        matrix = getattr(scipy.sparse, kind)(tuple(self.load(array) for array in arrays), shape=tuple(shape))
        matrix.check_format(full_check=True)
        return matrix

    def _instance(self, fields: Json, **named: str) -> Any:
        kind = _found(named["class"])
        if kind is None or not self._may_make(kind):
            raise FileError(f"it needs the class {named['class']!r}, of a plugin that is missing or of another version")
        values = {name: self.load(value) for name, value in fields.items()}
        if kind is Evaluation and self._places is not None:
            problem = self._places.problem
            values["W"] = problem.block.argmin(problem.smooth, values["Y"])
        return kind(**values)

    def _may_make(self, kind: type) -> bool:
        package = package_of(kind)
        return package.partition("_")[0] == "bregopt" or package in self._packages


def _found(name: str) -> type | None:
    """The attrs class of that name, in a module that is loaded already: a file makes nothing else."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and attrs.has(found) else None


# ---- small values, as one piece of JSON


def to_json(value: Any, where: str) -> Json:
    """A rule or a method by itself; its arrays become lists."""
    saver = Saver()
    saved = saver.save(value, where)
    arrays = [[str(array.dtype), list(array.shape), array.ravel().tolist()] for array in saver.arrays]
    return {"value": saved, "objects": saver.objects, "arrays": arrays}


def from_json(json: Json, packages: Set[str]) -> Any:
    """The value again, made of classes of bregopt and of these packages."""

    def array(number: int) -> np.ndarray[Any, Any]:
        dtype, shape, entries = json["arrays"][number]
        return np.array(entries, dtype).reshape(shape)

    return Loader(array, json["objects"], packages).load(json["value"])
