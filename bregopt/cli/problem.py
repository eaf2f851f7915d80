"""The problem that a command names: its spec, the options that go with it, and the data in a file."""

import difflib
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import click
import numpy as np
from attrs import frozen

import bregopt
from bregopt.errors import DataError, FileError, ParameterError, SpecError
from bregopt.host import defaults
from bregopt.host.spec import Spec, parse
from bregopt.matrices import LabelledMatrix, read
from bregopt.matrices.arrays import TENSOR, announced_shape
from bregopt.matrices.files import is_path, split_part
from bregopt.problem import ResolvedProblem

COMMON = ("rank", "U", "V", "kernel")
"""The parameters with an option of their own, which a record names even where they are not given."""
BLOCKS = ("U", "V")
"""Of those, the regularizers."""
ALL = "H"
"""What a problem calls its regularizer that has one for all of its blocks."""
FLAGS = {"rank": "--rank", "U": "-U", "V": "-V", "kernel": "--kernel"}


@final
class MoreDataError(click.ClickException):
    """A problem takes more than one file; the lines are how it is solved in Python."""

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.lines = lines


@final
@frozen(eq=False, kw_only=True)
class Model:
    """A registered problem with its parameters, whose data are still to come."""

    spec: str
    """as it was asked for"""
    name: str
    data: str
    """the name of its first parameter"""
    own: Mapping[str, Any]
    """its defaults for the common parameters that it takes, ``None`` where there is none"""
    given: Mapping[str, Any]
    """what the spec and the options say; a Path stands for what the file holds"""
    beside: Sequence[str]
    """which of them the spec does not hold"""
    blocks: Sequence[str]
    """which of them are regularizers"""

    def rank(self, shape: Sequence[int]) -> int | None:
        """The rank that was given, the problem's own, or else ten, and less for a small matrix; ``None`` for none."""
        found: int | None = self.given.get("rank", self.own.get("rank"))
        return min(defaults.RANK, *shape) if found is None and "rank" in self.own else found

    def read(self, path: Path) -> Any:
        """The data in a file: a matrix, or an array of other dimensions where the problem takes one."""
        return self.read_labelled(path).matrix

    def read_labelled(self, path: Path, header: bool | None = None, index: bool | None = None) -> LabelledMatrix:
        """The data in a file with their labels, which are looked for where it is not said what there is."""
        shape = announced_shape(path)
        if shape is not None and len(shape) != 2 and self.data != TENSOR:
            others = [entry.name for entry in bregopt.catalog("problem") if _data(entry.factory) == TENSOR]
            raise DataError(
                f"The problem '{self.name}' takes a matrix {self.data}, with two dimensions. Got shape {shape!s:.80} "
                f"in {str(path)!r} instead." + (f" Other shapes are taken by {', '.join(others)}." if others else "")
            )
        return read(path, header=header, index=index, any_shape=self.data == TENSOR)

    def check_matrix(self, what: str) -> None:
        """Refuse a matrix that is not in a file, for a problem whose data are no matrix."""
        if self.data == TENSOR:
            raise DataError(
                f"The problem '{self.name}' takes an array {self.data} with more than two dimensions, and {what} is a "
                "matrix: give an .npy or .npz file."
            )

    def compose(self, data: Any, **more: Any) -> ResolvedProblem:
        """The problem with its data, and with what is only known now, such as the rank; ``None`` is left out."""
        values = dict(self.given) | {name: bregopt.make("regularizer", self.given[name]) for name in self.blocks}
        values |= {name: it for name, it in more.items() if it is not None}
        return bregopt.compose(self.name, data, **values)

    def shown(self, name: str) -> Any:
        """A common parameter as a record shows it; ``None`` where the problem does not take it."""
        return spelled(self.given.get(name, self.own.get(name)))

    def others(self) -> dict[str, Any]:
        """The further parameters that were given, as a record shows them."""
        return {name: spelled(value) for name, value in self.given.items() if name not in COMMON}

    def words(self) -> Iterator[str]:
        """What was given beside the spec and the common parameters, as a person reads it: regularizers first."""
        beside = {name: value for name, value in self.others().items() if name in self.beside}
        for name in self.blocks:
            if name in beside:
                yield f"H: {beside[name]}" if name == ALL else f"H on {name}: {beside[name]}"
        yield from (f"{name}={value}" for name, value in beside.items() if name not in self.blocks)


def asked_model(
    problem: str,
    *,
    rank: int | None = None,
    U: str | None = None,
    V: str | None = None,
    kernel: str | None = None,
    settings: Sequence[str] = (),
    on: Sequence[str] = (),
) -> Model:
    """The problem of a spec with its options, checked against what the problem takes before any data are read."""
    from bregopt.host.compose import host

    spec = parse(problem)
    host().load()
    factory = host().registry.get("problem", spec.name).factory
    takes = _Takes.of(factory)
    if takes.data is None:
        raise ParameterError(f"The problem '{spec.name}' takes no data from a file. Compose it in Python.")
    if spec.args:
        raise ParameterError(
            f"--problem {problem!r}: give the parameters by name, as in 'name(key=value)'. "
            f"The first, {takes.data}, is what FILE holds."
        )
    options = {"rank": rank, "U": U, "V": V, "kernel": kernel}
    sources = [("--problem", name, value) for name, value in spec.kwargs.items()]
    sources += [(FLAGS[name], name, value) for name, value in options.items() if value is not None]
    sources += [("--set", *_setting(text, takes)) for text in settings]
    sources += [("--on", *_on(text)) for text in on]
    given: dict[str, Any] = {}
    said: dict[str, str] = {}
    for flag, name, value in sources:
        takes.check(spec.name, flag, name)
        if name in given:
            by = f"by {flag}, twice" if said[name] == flag else f"by {said[name]} and by {flag}"
            raise ParameterError(f"'{name}' is given {by}. Give it once.")
        said[name] = flag
        given[name] = spelled(value) if isinstance(value, Spec) else value
        if name in BLOCKS and value is None:  # the word of a spec for no value, and a regularizer
            given[name] = "none"
    blocks = [
        name for name, flag in said.items() if flag == "--on" or (name in BLOCKS and isinstance(given[name], str))
    ]
    for name in blocks:
        bregopt.make("regularizer", given[name])
    if missing := [name for name in takes.required if name not in given]:
        raise _more_data(spec.name, takes, missing)
    return Model(
        spec=problem,
        name=spec.name,
        data=takes.data,
        own={name: takes.named[name] for name in COMMON if name in takes.named},
        given=given,
        beside=[name for name, flag in said.items() if flag != "--problem"],
        blocks=blocks,
    )


@final
@frozen
class _Takes:
    """What the factory of a problem takes, by its signature."""

    data: str | None
    named: Mapping[str, Any]
    """its further parameters with their defaults, ``None`` for those without"""
    required: Sequence[str]
    """which of them have no default, the rank left out"""
    any_block: bool
    """whether it takes regularizers under further names"""
    anything: bool
    """whether it takes values under further names"""

    @classmethod
    def of(cls, factory: Callable[..., Any]) -> "_Takes":
        further = list(inspect.signature(factory).parameters.values())[_data(factory) is not None :]
        plain = [it for it in further if it.kind not in (it.VAR_KEYWORD, it.VAR_POSITIONAL)]
        named = {it.name: None if it.default is it.empty else it.default for it in plain}
        any_block = anything = False
        for it in further:
            if it.kind is it.VAR_KEYWORD:
                known = _keys(factory, it)
                named |= dict.fromkeys(known)
                any_block = not known
                anything = any_block and "Regularizer" not in str(it.annotation)
        required = [it.name for it in plain if it.default is it.empty and it.name != "rank"]
        return cls(_data(factory), named, required, any_block, anything)

    def check(self, problem: str, flag: str, name: str) -> None:
        """Refuse a parameter that the problem does not take, and the data, which come from the file."""
        if name == self.data:
            raise ParameterError(f"The parameter {name} of the problem '{problem}' is what FILE holds: leave it out.")
        if name in self.named or self.anything or (self.any_block and flag != "--set"):
            return
        option = f"{flag} {name}=…" if flag in ("--set", "--on") else flag
        leave = "leave it out of --problem" if flag == "--problem" else f"leave {option} out"
        close = difflib.get_close_matches(name, self.named, n=1)
        near = f" Did you mean '{close[0]}'?" if close else ""
        more = ", and H on each further block by --on" if self.any_block else ""
        taken = ", ".join([str(self.data), *self.named])
        raise ParameterError(f"The problem '{problem}' takes no {name}: {leave}.{near} It takes {taken}{more}.")


def _data(factory: Callable[..., Any]) -> str | None:
    """The name of the first parameter; ``None`` where there is none."""
    for it in inspect.signature(factory).parameters.values():
        return it.name if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD, it.VAR_POSITIONAL) else None
    return None


def _keys(factory: Callable[..., Any], parameter: inspect.Parameter) -> list[str]:
    """The names that ``**options: Unpack[Options]`` stands for; none where the keywords are not told."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        try:
            annotation = typing.get_type_hints(factory)[parameter.name]
        except (NameError, TypeError):  # of names that are imported for type checking only
            return []
    told = [it for it in typing.get_args(annotation) if typing.is_typeddict(it)]
    return [name for it in told for name in it.__annotations__]


def _more_data(problem: str, takes: _Takes, missing: Sequence[str]) -> MoreDataError:
    needs = [str(takes.data), *takes.required]
    rank = f", rank={defaults.RANK}" if "rank" in takes.named else ""
    loaded = ", ".join(f'{name}=np.load("{name}.npy")' for name in needs)
    return MoreDataError(
        f"The problem '{problem}' takes {', '.join(needs)}, and FILE is {takes.data} only. Give "
        f"{' and '.join(f'--set {name}=…' for name in missing)}, a value or the path of a file; or write in Python:",
        [
            "import bregopt as bo, numpy as np",
            f'problem = bo.compose("{problem}", {loaded}{rank})',
            "result = bo.solve(problem)",
        ],
    )


def _setting(text: str, takes: _Takes) -> tuple[str, Any]:
    """``name=value``: the file of that path, text where the default is text, or else as an argument of a spec."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals and is_path(value):
        if not split_part(value)[0].exists():
            raise FileError(f"--set {name}: the file {value!r} does not exist. Check the path.")
        return name, Path(value)
    if value and isinstance(takes.named.get(name), str):
        return name, value.strip("'\"")
    try:
        found = parse(f"set({name}={value})")
    except SpecError:
        found = Spec("set")
    if list(found.kwargs) != [name] or found.args:
        raise SpecError(
            f"--set {text!r} cannot be read. Write it as 'name=value', where the value is a number, a word such as "
            "true or none, a spec such as 'huber(0.5)', or the path of a file."
        )
    return name, found.kwargs[name]


def _on(text: str) -> tuple[str, str]:
    """``block=spec``."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name.isidentifier() and value):
        raise SpecError(f"--on {text!r} cannot be read. Write it as 'BLOCK=SPEC', as in 'a=ridge(0.1)'.")
    return name, value


def absolute_setting(text: str) -> str:
    """A setting with the path of its file as it is seen from everywhere."""
    name, _, value = (part.strip() for part in text.partition("="))
    return f"{name}={Path(value).absolute()}" if is_path(value) else text


def spelled(value: Any) -> Any:
    """A value as JSON holds it and as a person wrote it: numbers and words as they are, all else as text."""
    if isinstance(value, Spec):
        arguments = [_argument(it) for it in value.args] + [f"{k}={_argument(it)}" for k, it in value.kwargs.items()]
        return f"{value.name}({', '.join(arguments)})" if arguments else value.name
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return _argument(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _argument(value: Any) -> str:
    """An argument as a spec spells it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_argument, value))}]"
    if isinstance(value, str) and not value.replace("-", "").replace("_", "").isalnum():
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value).lower() if value is None or isinstance(value, bool) else str(spelled(value))


def counts(data: Any) -> tuple[int, int]:
    """How many entries are neither zero nor nan, and how many are nan; a file is read by rows."""
    values = data.data if hasattr(data, "tocsr") else data
    length = values.shape[0]
    step = max(1, 2**20 // max(1, values[0].size)) if length else 1
    nonzeros = missing = 0
    for at in range(0, length, step):
        part = values[at : at + step]
        nonzeros += int(np.count_nonzero(part))
        missing += int(np.isnan(part).sum()) if part.dtype.kind == "f" else 0
    return nonzeros - missing, missing
