"""What an experiment is: tasks that are run once and kept, and a section of the report made of their records."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from attrs import field, frozen

Record = Mapping[str, Any]
"""What a task found: numbers, text, lists and mappings of these, and NumPy arrays."""


@final
@frozen
class Task:
    """A piece of an experiment that is run as a whole; one that is finished is not run again."""

    name: str
    """as in ``l1/netz15/aapb``: a path that no other task of the report has"""
    run: Callable[[], Record]
    datasets: tuple[str, ...] = ()
    """the specs of the data sets that it reads; without one of them it is left out"""
    seconds: float = 1.0
    """how long it may take on two cores, to tell the time left"""
    settings: Mapping[str, Any] = field(factory=dict)
    """what the record depends on; a record that was made with others is made anew"""


@final
@frozen
class Table:
    """A table of the report; it is also written as CSV and Markdown."""

    name: str
    """of the files"""
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """text, numbers, or ``None`` for an empty cell"""


@final
@frozen(eq=False)
class Figure:
    """A figure of the report; it is also written as PNG and SVG."""

    name: str
    """of the files"""
    caption: str
    """one sentence of what is to be seen"""
    draw: Callable[[Any], None]
    """draws on an empty matplotlib figure"""
    size: tuple[float, float] = (8.0, 4.5)
    """in inches"""


@final
@frozen(eq=False)
class Section:
    """What an experiment found, as the report tells it."""

    title: str
    text: tuple[str, ...]
    """paragraphs: what the paper printed, what came out with its settings, what comes out with ours"""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


class Experiment(ABC):
    """One experiment of the paper."""

    name: str
    """the word behind ``bregopt reproduce``"""

    @abstractmethod
    def tasks(self, quick: bool) -> Sequence[Task]:
        """What is to be run, in order; ``quick`` takes small generated data, and seconds."""

    @abstractmethod
    def section(self, records: Mapping[str, Record], quick: bool) -> Section:
        """The report of the tasks that were run, by their names; some may be missing."""
