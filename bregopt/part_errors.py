"""What a part raises, or returns and may not, as one error that names the part, its file and its line."""

import functools
import importlib.metadata
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import ContextDecorator, suppress
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from bregopt.blocks import Blocks, Layout
from bregopt.errors import BregoptError, OverflowedError, PartError

LIBRARIES = {"numpy", "scipy", "sparse", "numba", "llvmlite", "attr", "attrs", "pluggy", "click", "rich"}
LIBRARIES |= {"threadpoolctl", "dask", "distributed", "matplotlib", "pyproximal", "pylops", "torch"}
"""Packages that bregopt and its own plugins call: what they raise there is no author's."""
GENERATED = ("<attrs generated", "<frozen", "<__array_function__")
"""How the file names of code begin that is in no file."""
LEFT = "bregopt_leaves_it"
"""The attribute of an exception that is to reach the caller as it is."""
LONGEST = 200
"""Characters of a foreign message that are repeated."""


def leave_as_it_is(error: BaseException) -> None:
    """Let ``raise_named`` pass what a function of the caller raised."""
    setattr(error, LEFT, True)


def raise_named(error: BaseException | None) -> None:
    """Raise the PartError for what the code of a part raised; return where bregopt itself raised it, or Ctrl-C did.

    Its traceback is the author's own lines, without those of bregopt in between; ``raised`` has them.
    A decomposition that fails in bregopt's own code has met nan or inf: it becomes an OverflowedError.
    """
    if isinstance(error, PartError) and error.raised is not None:
        raise error.with_traceback(_authors_traceback(error.raised))
    if isinstance(error, (BregoptError, MemoryError)) or not isinstance(error, (Exception, SystemExit)):
        return
    if getattr(error, LEFT, False):
        return
    known = part_error(error)
    if known is not None:
        known.raised = error
        raise known.with_traceback(_authors_traceback(error)) from None
    if isinstance(error, np.linalg.LinAlgError):
        raise OverflowedError(f"A matrix left the range of finite numbers, or nearly so: {error}.") from error


class _PartErrors(ContextDecorator):
    """``with part_errors:`` around what calls parts, or ``@part_errors``, raises what ``raise_named`` does."""

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        raise_named(error)


part_errors = _PartErrors()


def part_error(error: BaseException) -> PartError | None:
    """The sentence about an exception that comes out of an author's code; ``None`` where it does not."""
    frames = _authors_frames(error.__traceback__)
    if not frames:
        return _never_compiled(error) or _never_entered(error)
    told = f"{type(error).__name__}: {_short(str(error))}" if str(error) else type(error).__name__
    return PartError(
        f"{_name(frames[0][0])} raised {told} ({_place(*frames[-1])}). "
        "Correct it there, or leave it out; 'bregopt check' tries a part by itself."
    )


def _never_compiled(error: BaseException) -> PartError | None:
    """The sentence about an author's function that numba refused: its message says where, among much else."""
    if not type(error).__module__.startswith("numba."):
        return None
    modules = [sys.modules.get(name) for name in _plugin_packages()[0]]
    own = tuple(str(Path(it.__file__).parent) for it in modules if it is not None and it.__file__)
    places = re.findall(r" at (\S+\.py) \((\d+)\)", str(error))
    theirs = next((it for it in places if not it[0].startswith(own)), None)
    if theirs is None:
        return None
    why = next((line for line in str(error).splitlines() if line and not line.startswith("Failed in ")), "")
    told = _short(why.replace("Function(<built-in function ", "").replace(">) found", " found"))
    return PartError(f"numba cannot compile what is at {':'.join(theirs)}: {told} Use numbers and math only there.")


def _never_entered(error: BaseException) -> PartError | None:
    """The sentence about an author's method that did not take its arguments, or that is no method at all."""
    refused = re.match(r"(.+)\(\) (takes|missing|got) ", str(error)) if isinstance(error, TypeError) else None
    not_callable = isinstance(error, TypeError) and str(error).endswith("object is not callable")
    if refused is None and not not_callable:
        return None
    own = _plugin_packages()[0]
    for part in _at_hand([frame for frame, _ in walk_tb(error.__traceback__)][-1]):
        ours = [base for base in type(part).__mro__ if _module(base) in own]
        theirs = [base for base in type(part).__mro__ if base not in ours]
        for name, it in [("", part), *(pair for base in theirs for pair in vars(base).items())]:
            if refused and getattr(it, "__qualname__", "") == refused[1] and _module(it) not in own:
                return mistake(part, name, f"does not take what it is called with: {_short(str(error))}")
            is_method = any(inspect.isfunction(vars(base).get(name)) for base in ours)
            if not_callable and is_method and not callable(it):
                return mistake(part, name, f"must be a method. It is {shown(it)}")
    return None


def _at_hand(frame: FrameType) -> Iterator[Any]:
    """What the frame has under a name, and what that holds."""
    for it in list(frame.f_locals.values()):
        yield it
        yield from getattr(it, "__dict__", {}).values()
        for base in type(it).__mro__:
            annotated = vars(base).get("__annotations__", ())
            for name in annotated if isinstance(annotated, Mapping) else ():  # of ``type`` itself it is a descriptor
                with suppress(Exception):
                    yield getattr(it, name)


def is_ours(part: object) -> bool:
    """Whether a part or a function comes with bregopt."""
    return _module(part) in _plugin_packages()[0]


def _module(part: object) -> str:
    """The package that a class, a function or an object comes from."""
    return str(getattr(part, "__module__", "")).partition(".")[0]


def author_of(error: BaseException) -> str:
    """`` (file:line)`` of the author's code that an exception comes out of; empty where it does not."""
    frames = _authors_frames(error.__traceback__)
    return f" ({_place(*frames[-1])})" if frames else ""


def mistake(part: object, method: str, told: str) -> PartError:
    """What a part did wrong, with its name and line; ``method`` is empty where the part is a function."""
    kind = part if inspect.isclass(part) else type(part)
    owner = next((base for base in kind.__mro__ if method in vars(base)), kind)
    code = _code(vars(owner).get(method) if method else part) if is_ours(kind) or not is_ours(owner) else None
    name = _own_name(getattr(part, "__qualname__", kind.__qualname__))
    place = _line(code) if code else _place_of_class(kind)
    return PartError(f"{f'{name}.{method}' if method else name} {told} ({place}).")


def wrong_result(part: object, method: str, rule: str, found: object) -> PartError:
    """The sentence about a result that breaks the rule."""
    return mistake(part, method, f"must return {rule}. It returned {shown(found)}")


def shown(found: object) -> str:
    """A result for a message: never a whole array."""
    if isinstance(found, np.ndarray):
        spoilt = found.dtype.kind in "fc" and found.size and not np.isfinite(found).all()
        return f"an array of shape {times(found.shape)} and dtype {found.dtype}{', with nan or inf' if spoilt else ''}"
    if isinstance(found, Blocks):
        spoilt = not np.isfinite(found.flat).all()
        return f"Blocks of {shapes(found.layout)}{', with nan or inf' if spoilt else ''}"
    if isinstance(found, (list, tuple)) and len(found) > 3:
        return f"a {type(found).__name__} of length {len(found)}"
    if isinstance(found, (list, tuple)) and found:
        return f"a {type(found).__name__} of {', '.join(map(shown, found))}"
    return _short(repr(found), 60)


def shapes(layout: Layout) -> str:
    """``U: 8×2, V: 2×6``."""
    return ", ".join(f"{name}: {times(shape)}" for name, shape in zip(layout.names, layout.shapes, strict=True))


def times(shape: tuple[int, ...]) -> str:
    """``8×2``."""
    return "×".join(map(str, shape)) or "()"


def _short(text: str, longest: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}…"


def _authors_frames(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The last frames in a row that are an author's, each with its line: they begin where bregopt called the part.

    An installed package is an author's where it provides plugins, or where bregopt called it directly.
    """
    own, foreign = _plugin_packages()
    found: list[tuple[FrameType, int]] = []
    run: list[tuple[FrameType, int]] = []
    called_by_us = True
    for frame, line in walk_tb(traceback):
        package = _package(frame)
        if package in own:
            run, called_by_us = [], True
        elif package not in sys.stdlib_module_names and not frame.f_code.co_filename.startswith(GENERATED):
            authors = called_by_us or package in foreign or not _installed(frame.f_code)
            called_by_us = False
            if authors and package not in LIBRARIES:
                found = run = [*run, (frame, line)]
    return found


def _authors_traceback(error: BaseException) -> TracebackType | None:
    """The traceback from the author's first line on."""
    frames, traceback = _authors_frames(error.__traceback__), error.__traceback__
    while traceback is not None and frames and traceback.tb_frame is not frames[0][0]:
        traceback = traceback.tb_next
    return traceback if frames else None


@functools.cache
def _plugin_packages() -> tuple[set[str], dict[str, str]]:
    """The packages of bregopt, and those of other distributions that provide plugins, with their names."""
    own, foreign = {"bregopt"}, {}
    for point in importlib.metadata.entry_points(group="bregopt"):
        package = point.value.partition(":")[0].partition(".")[0]
        if point.dist is not None and point.dist.name == "bregopt":
            own.add(package)
        elif point.dist is not None:
            foreign[package] = f"{point.dist.name} {point.dist.version}"
    return own, foreign


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _installed(code: CodeType) -> bool:
    return code.co_filename.startswith(_installed_folders())


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return paths["purelib"], paths["platlib"], paths["stdlib"]


def _name(frame: FrameType) -> str:
    """``Class.method``, with the class of the part itself, or the name of a function."""
    code = frame.f_code
    if code.co_varnames[:1] == ("self",) and "self" in frame.f_locals:
        return f"{type(frame.f_locals['self']).__name__}.{code.co_name}"
    return _own_name(code.co_qualname)


def _own_name(qualname: str) -> str:
    return qualname.rpartition("<locals>.")[2]


def _place(frame: FrameType, line: int) -> str:
    """``file:line``, and who provides it where that is a distribution."""
    provider = _plugin_packages()[1].get(_package(frame))
    return f"{frame.f_code.co_filename}:{line}" + (f", of {provider}" if provider else "")


def _line(code: CodeType) -> str:
    return f"{code.co_filename}:{code.co_firstlineno}"


def _code(function: Any) -> CodeType | None:
    """Of a function, a method, a property or a callable object."""
    if isinstance(function, property):
        function = function.fget
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    if callable(function) and not (inspect.isclass(function) or hasattr(function, "__code__")):
        function = inspect.getattr_static(type(function), "__call__", None)  # an object that is called
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _place_of_class(kind: type) -> str:
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):  # its module is not at hand, but its methods are
        codes = [code for code in map(_code, vars(kind).values()) if code is not None]
        return _line(codes[0]) if codes else f"in the module {kind.__module__}"
