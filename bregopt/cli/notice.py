"""A line on the terminal that says what is being done; it is drawn when it changes, and by no thread of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Notice = Callable[[str], object]


@contextmanager
def notice(wanted: bool = True) -> Iterator[Notice]:
    """A function that shows a text, erased at the end; without a terminal nothing is shown."""
    from rich.live import Live
    from rich.text import Text

    from bregopt.cli.progress import terminal

    console = terminal() if wanted else None
    if console is None:
        yield lambda text: None
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(Text(text, "dim"), refresh=True)
