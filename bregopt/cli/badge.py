"""The badge of a plugin: a small SVG that says how many checks passed with which bregopt, and the Markdown to show it.

The file is all there is to it: no service is asked when somebody looks at it.
"""

from pathlib import Path
from string import Template
from typing import final
from xml.sax.saxutils import escape

from attrs import frozen

import bregopt
from bregopt.errors import FileError

PASSED, EXPECTED, FAILED, UNKNOWN = "#2a7d2e", "#8a6d00", "#b3261e", "#6b6b6b"
"""Dark enough for white letters."""
WIDE, NARROW = "mwMW@%", "fijlrtI.,:;|!' "
LETTER, THIN, BROAD, MARGIN = 6.7, 3.9, 9.6, 6.0
"""Widths of a letter, at 11 pixels."""

PICTURE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="20" role="img" aria-label="$said">
  <title>$said</title>
  <clipPath id="round"><rect width="$width" height="20" rx="3"/></clipPath>
  <g clip-path="url(#round)">
    <rect width="$left" height="20" fill="#444"/>
    <rect x="$left" width="$right" height="20" fill="$colour"/>
  </g>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11" text-anchor="middle">
    <text x="$middle_left" y="14" textLength="$letters_left">$what</text>
    <text x="$middle_right" y="14" textLength="$letters_right">$verdict</text>
  </g>
</svg>
""")


@final
@frozen
class Badge:
    """What a badge says: on the left with which bregopt, on the right how the checks ended."""

    what: str
    verdict: str
    colour: str

    @property
    def said(self) -> str:
        return f"{self.what}: {self.verdict}"

    def svg(self) -> str:
        """The picture."""
        letters = [_width(text) for text in (self.what, self.verdict)]
        left, right = (width + 2 * MARGIN for width in letters)
        return PICTURE.substitute(
            said=escape(self.said, {'"': "&quot;"}),
            what=escape(self.what),
            verdict=escape(self.verdict),
            colour=self.colour,
            width=f"{left + right:g}",
            left=f"{left:g}",
            right=f"{right:g}",
            middle_left=f"{left / 2:g}",
            middle_right=f"{left + right / 2:g}",
            letters_left=f"{letters[0]:g}",
            letters_right=f"{letters[1]:g}",
        )

    def markdown(self, file: str | Path) -> str:
        """What shows the picture on a page beside it."""
        return f"![{self.said}]({Path(file).name.replace(' ', '%20')})"


def badge(passed: int, failed: int, expected: int = 0) -> Badge:
    """How many checks passed of those that apply; ``expected`` ones failed as the author of the part says."""
    colour = FAILED if failed else EXPECTED if expected or not passed else PASSED
    return Badge(f"bregopt {bregopt.__version__}", f"{passed} of {passed + failed + expected} checks passed", colour)


def unchecked() -> Badge:
    """For a plugin that was not checked yet."""
    return Badge("bregopt", "not checked yet", UNKNOWN)


def check_place(file: Path) -> None:
    """Refuse, before anything is checked, a file that could not be written or would not be seen as a picture."""
    if file.suffix.lower() != ".svg":
        raise FileError(f"The badge {str(file)!r} must end in .svg.")
    if not file.absolute().parent.is_dir():
        raise FileError(f"The folder of the badge {str(file)!r} does not exist.")


def _width(text: str) -> float:
    """Of a text in pixels, near enough: textLength makes the letters fit."""
    widths = (THIN if letter in NARROW else BROAD if letter in WIDE else LETTER for letter in text)
    return round(sum(widths), 1)
