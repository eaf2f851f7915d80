"""Spec strings: ``l1(0.01)``, ``aapb(beta=nesterov, step=1)``, ``on-columns(l1(0.1), [0, 3])``."""

import re
from typing import Any, final

from attrs import field, frozen

from bregopt.errors import SpecError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w.-]))
      | (?P<name>(?:\d++[A-Za-z]\w*+-)?[A-Za-z_][\w-]*)
      | (?P<string>'[^']*'|"[^"]*")
      | (?P<mark>[(),=*+\[\]])
    )""",
    re.VERBOSE,
)
LONGEST, DEEPEST = 4000, 20
"""The most characters of a spec, and the most specs within each other."""
MOST_DIGITS = 300
"""Of a number: more than a floating-point number can hold."""
_WORDS = {"true": True, "false": False, "none": None, "inf": float("inf")}


@final
@frozen
class Spec:
    """A name with arguments; an argument may be a spec itself, or a tuple of arguments."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(factory=dict)


def parse(text: str) -> Spec:
    """Read a spec string."""
    if not isinstance(text, str) or not text.strip():
        raise SpecError(f"A spec is a name with arguments, as in 'l1(0.01)'. Got {text!r} instead.")
    if len(text) > LONGEST:
        raise SpecError(f"A spec has at most {LONGEST} characters. Got {len(text)}, beginning with {text[:40]!r}.")
    reader = _Reader(text)
    spec = reader.spec()
    reader.end()
    return spec


def parse_sum(text: str) -> list[tuple[float, Spec]]:
    """Read a sum of specs with weights, ``3*psi1 + 2*psi2``: the weight and the spec of each term."""
    if len(text) > LONGEST:
        raise SpecError(f"A spec has at most {LONGEST} characters. Got {len(text)}, beginning with {text[:40]!r}.")
    reader = _Reader(text)
    terms = [reader.term()]
    while reader.take("mark", "+") or reader.sees("+"):  # in psi1+2*psi2 the sign belongs to the number
        terms.append(reader.term())
    reader.end()
    return terms


@final
class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text.rstrip()
        self.at = self.depth = 0

    def fail(self, expected: str) -> SpecError:
        found = repr(self.text[self.at :]) if self.at < len(self.text) else "the end"
        return SpecError(
            f"The spec {self.text!r} cannot be read: expected {expected} at position {self.at + 1}, found {found}. "
            "Write it as 'name' or 'name(value, key=value)'."
        )

    def take(self, group: str, only: str = "") -> str | None:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match[group] is None or (only and match[group] not in only):
            return None
        self.at = match.end()
        return match[group]

    def sees(self, start: str) -> bool:
        """Whether the rest begins so."""
        return self.text[self.at :].lstrip().startswith(start)

    def spec(self) -> Spec:
        name = self.take("name")
        if name is None:
            raise self.fail("a name")
        return self.call(name)

    def term(self) -> tuple[float, Spec]:
        """``name(…)`` or ``number*name(…)``."""
        weight = self.number()
        if weight is None:
            return 1.0, self.spec()
        if not self.take("mark", "*"):
            raise self.fail("'*'")
        return float(weight), self.spec()

    def call(self, name: str) -> Spec:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if not self.take("mark", "("):
            return Spec(name)
        self.deeper()
        while not self.take("mark", ")"):
            if (args or kwargs) and not self.take("mark", ","):
                raise self.fail("',' or ')'")
            key, value = self.argument()
            if key is None:
                if kwargs:
                    raise self.fail("key=value, since an argument with a key came before,")
                args.append(value)
            elif key in kwargs:
                raise SpecError(f"The spec {self.text!r} gives '{key}' twice.")
            else:
                kwargs[key] = value
        self.depth -= 1
        return Spec(name, tuple(args), kwargs)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise SpecError(f"A spec holds at most {DEEPEST} specs within each other. Got more in {self.text[:40]!r}….")

    def items(self) -> tuple[Any, ...]:
        """The rest of a list, ``0, 3]``."""
        self.deeper()
        found: list[Any] = []
        while not self.take("mark", "]"):
            if found and not self.take("mark", ","):
                raise self.fail("',' or ']'")
            found.append(self.value())
        self.depth -= 1
        return tuple(found)

    def argument(self) -> tuple[str | None, Any]:
        name = self.take("name")
        if name is not None and self.take("mark", "="):
            return name, self.value()
        return None, self.word(name) if name is not None else self.value()

    def value(self) -> Any:
        number = self.number()
        if number is not None:
            return number
        string = self.take("string")
        if string is not None:
            return string[1:-1]
        if self.take("mark", "["):
            return self.items()
        name = self.take("name")
        if name is None:
            raise self.fail("a value")
        return self.word(name)

    def number(self) -> float | None:
        number = self.take("number")
        if number is None:
            return None
        if len(number) > MOST_DIGITS:
            raise SpecError(f"A number in a spec has at most {MOST_DIGITS} characters. Got {len(number)}.")
        return int(number) if re.fullmatch(r"[+-]?\d+", number) else float(number)

    def word(self, name: str) -> Any:
        if name.lower() in _WORDS:
            return _WORDS[name.lower()]
        spec = self.call(name)
        return spec if spec.args or spec.kwargs else name

    def end(self) -> None:
        if self.at < len(self.text):
            raise self.fail("the end")
