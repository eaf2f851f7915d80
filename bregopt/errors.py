"""Every error of the library, in one tree.

BregoptError
├── ParameterError    (ValueError)    a parameter is outside its range
├── DataError         (ValueError)    a matrix or start point cannot be used
├── FileError         (OSError)       a file is missing, damaged or cannot be written
├── SpecError         (ValueError)    a spec string such as ``l1(0.01)`` cannot be read
├── UnknownNameError  (LookupError)   no plugin provides that name
├── DuplicateNameError (ValueError)   two plugins provide the same name
├── PluginError       (RuntimeError)  a plugin cannot be loaded
│   └── PartError                     a part of a plugin raised, or returned what it may not
├── IncompatibleError (TypeError)     parts that do not fit together
├── OverflowedError   (ArithmeticError) an iterate left the range of finite numbers
└── NotSolvedError    (RuntimeError)  raised by ``result.raise_for_status()``

BregoptWarning (UserWarning)
├── PluginWarning         a plugin was skipped
├── CheckpointWarning     a run could not be saved, and goes on
├── InterruptedWarning    Ctrl-C ended a run, and the program goes on
└── FaultWarning          a fault of the machine or the cluster that a run goes on without
"""

MOST_LISTED, LONGEST = 12, 120
"""What a message repeats at most: entries of a list, and characters."""


class BregoptError(Exception):
    """Root of every error the library raises on purpose."""


class ParameterError(BregoptError, ValueError):
    """A parameter is outside its range."""


class DataError(BregoptError, ValueError):
    """A matrix or a start point cannot be used."""


class FileError(BregoptError, OSError):
    """A file is missing, damaged or cannot be written."""


class SpecError(BregoptError, ValueError):
    """A spec string cannot be read."""


class UnknownNameError(BregoptError, LookupError):
    """No plugin provides that name."""


class DuplicateNameError(BregoptError, ValueError):
    """Two plugins provide the same name."""


class PluginError(BregoptError, RuntimeError):
    """A plugin cannot be loaded."""


class PartError(PluginError):
    """A part of a plugin raised, or returned what it may not."""

    raised: BaseException | None = None
    """what it raised; ``None`` for a wrong result"""


class IncompatibleError(BregoptError, TypeError):
    """Parts that do not fit together."""


class OverflowedError(BregoptError, ArithmeticError):
    """An iterate left the range of finite numbers."""


class NotSolvedError(BregoptError, RuntimeError):
    """The run ended without converging."""


class BregoptWarning(UserWarning):
    """Root of every warning of the library."""


class PluginWarning(BregoptWarning):
    """A plugin was skipped."""


class CheckpointWarning(BregoptWarning):
    """A run could not be saved, and goes on."""


class InterruptedWarning(BregoptWarning):
    """Ctrl-C ended a run, and the program goes on with what it has."""


class FaultWarning(BregoptWarning):
    """A fault of the machine or the cluster, such as a full disk, which a run goes on without."""


def parameter(name: str, owner: str, rule: str, found: object) -> ParameterError:
    """The one sentence every parameter error is written in."""
    return ParameterError(f"The '{name}' parameter of {owner} must be {rule}. Got {brief(found)} instead.")


def brief(found: object) -> str:
    """What was found, for a message: an array by its shape, and the rest in one short line."""
    shape = getattr(found, "shape", None)
    if isinstance(shape, tuple) and hasattr(found, "dtype") and shape:
        return f"an array of shape {'×'.join(map(str, shape))}"
    if isinstance(found, (list, tuple)) and len(found) > MOST_LISTED:
        return f"a {type(found).__name__} of length {len(found)}"
    if isinstance(found, (list, tuple)) and any(hasattr(it, "shape") for it in found):
        return f"a {type(found).__name__} of {', '.join(map(brief, found))}"
    text = " ".join(repr(found).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
