"""A task on each block of rows, and the sum of what they return, added up on the workers."""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeVar, final

from attrs import frozen
from distributed import Client, Future

from bregopt_dask.lost import persistently

Out = TypeVar("Out")
FAN = 8
"""Terms that one task adds up."""


@final
@frozen(eq=False)
class Workers:
    """The blocks of M where they lie."""

    client: Client
    blocks: Sequence[Future]
    homes: Sequence[str]
    """where each block was made; it may move when a worker dies"""

    @classmethod
    def holding(cls, client: Client, blocks: Sequence[Future]) -> "Workers":
        """The workers that hold these blocks now."""
        places = client.who_has(list(blocks))
        return cls(client, blocks, [str(next(iter(places[block.key]), "")) for block in blocks])

    def do(self, work: Callable[..., Out], *args: Any) -> Out:
        """``work(*args)``, again if a worker is lost."""
        return persistently(self.client, partial(work, *args))

    def send(self, *things: Any) -> list[Future]:
        """Data for the tasks of one pass: nothing of them is kept by the scheduler."""
        sent: list[Future] = self.client.scatter(list(things), hash=False)
        return sent

    def each(self, task: Callable[..., Any], *lines: Sequence[Any], **common: Any) -> list[Future]:
        """``task(block, line, …)`` for every block."""
        return self.then(task, self.blocks, *lines, **common)

    def then(self, task: Callable[..., Any], *lines: Sequence[Any], **common: Any) -> list[Future]:
        """``task(line, …)`` for every line."""
        futures: list[Future] = self.client.map(task, *lines, pure=False, **common)
        return futures

    def total(self, plus: Callable[[Any, Any], Any], terms: Sequence[Future]) -> Future:
        """The sum of the terms, one for each block, by a tree: first on every worker, then across them."""
        at = {
            home: [term for term, place in zip(terms, self.homes, strict=True) if place == home] for home in self.homes
        }
        return self._tree(plus, [self._tree(plus, group) for group in at.values()])

    def _tree(self, plus: Callable[[Any, Any], Any], terms: Sequence[Future]) -> Future:
        while len(terms) > 1:
            groups = [list(terms[k : k + FAN]) for k in range(0, len(terms), FAN)]
            terms = [self.client.submit(reduce, plus, group, pure=False) for group in groups]
        return terms[0]

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """What the tasks returned."""
        returned: list[Any] = self.client.gather(list(futures))
        return returned
