"""How a check ends: by returning, or by one of these."""

from typing import NoReturn


class CheckFailedError(Exception):
    """The part is wrong: what was seen, and the code that shows it."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.message, self.code = message, code


class NotApplicableError(Exception):
    """The part claims nothing that this check could test."""


def fail(message: str, code: str = "") -> NoReturn:
    """End a check: the part is wrong."""
    raise CheckFailedError(message, code)


def skip(reason: str) -> NoReturn:
    """End a check: it does not apply."""
    raise NotApplicableError(reason)
