"""Parse and make random and damaged spec strings: ``python specs.py COUNT SEED``.

Prints one JSON object: how many were made, refused, or failed, and the failures. A spec fails if it raises anything but
a BregoptError of one sentence or two, or takes more than 5 s. The last line of stderr is the spec at work, should the
process end before its time.
"""

import inspect
import json
import resource
import signal
import sys
import warnings
from collections import Counter

import numpy as np

import bregopt
from bregopt.errors import BregoptError, SpecError
from bregopt.host.spec import Spec, parse

SECONDS, BYTES = 5, 2 * 10**9
PIECES = (
    *"()=,'\"-+.e \t\n\\ψé0😀",
    *(
        "1",
        "0.5",
        "-1",
        "1e400",
        "9" * 30,
        "nan",
        "inf",
        "none",
        "true",
        "x=",
        "step=1",
        "beta=nesterov",
        "row",
        "((",
        "))",
    ),
    *("l1", "l1(0.1)", "sum(l1, l2)", "l0-ball(5, per=row)", "1e-320", "0x10", "1_000", "a.b", "__class__", "None"),
)


def spec(rng: np.random.Generator, parts: dict[str, list[str]]) -> str:
    """A part with some of its parameters, or pieces in any order; then, mostly, with a character changed."""
    if rng.random() < 0.3:
        text = "".join(rng.choice(PIECES, size=rng.integers(1, 9)))
    else:
        name = str(rng.choice(list(parts)))
        keys = rng.choice(parts[name], size=rng.integers(0, len(parts[name]) + 1), replace=False) if parts[name] else []
        values = [_value(rng, parts) for _ in range(rng.integers(0, 3))] if rng.random() < 0.5 else []
        text = f"{name}({', '.join([*values, *(f'{key}={_value(rng, parts)}' for key in keys)])})"
    letters = list(text)
    for _ in range(rng.choice([0, 0, 1, 2])):
        place = rng.integers(len(letters) + 1)
        letters[place : place + rng.integers(0, 3)] = rng.choice(PIECES)
    return "".join(letters)


def _value(rng: np.random.Generator, parts: dict[str, list[str]]) -> str:
    return str(
        rng.choice([rng.choice(PIECES), rng.choice(list(parts)), f"{abs(rng.normal()):g}", str(rng.integers(9))])
    )


def outcome(kind: str, text: str) -> str:
    """``made``, ``refused``, or what is wrong."""
    try:
        if not isinstance(parse(text), Spec):
            return "parse returned something else"
    except SpecError:
        pass
    except Exception as error:
        return f"parse raised {type(error).__name__}: {error}"
    try:
        bregopt.make(kind, text)
    except BregoptError as error:
        said = str(error)
        return "refused" if said and len(said) < 5000 else f"an error of {len(said)} characters"
    except Exception as error:
        return f"make raised {type(error).__name__}: {error}"
    return "made"


def main(count: str, seed: str) -> None:
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    entries = bregopt.catalog()
    parts = {entry.name: list(inspect.signature(entry.factory).parameters) for entry in entries}
    kinds = sorted({entry.kind for entry in entries})
    kind_of = {entry.name: entry.kind for entry in entries}
    seen, failures = Counter(), []
    for number in range(int(count)):
        rng = np.random.default_rng([int(seed), number])
        text = spec(rng, parts)
        kind = kind_of.get(text.partition("(")[0]) if rng.random() < 0.7 else None
        kind = kind or str(rng.choice(kinds))
        print(json.dumps([kind, text]), file=sys.stderr)
        signal.alarm(SECONDS * 10)  # a limit for what hangs, whatever else the machine does
        found = outcome(kind, text)
        seen[found if found in ("made", "refused") else "failed"] += 1
        if found not in ("made", "refused"):
            failures.append(f"{kind} {text!r}: {found}")
    print(json.dumps({"seen": seen, "failures": failures}))


if __name__ == "__main__":
    main(*sys.argv[1:])
