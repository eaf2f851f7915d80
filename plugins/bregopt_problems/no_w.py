"""The W block of a problem that has none."""

from typing import Any, final

from attrs import frozen

from bregopt import Blocks, ClosedFormBlock, SmoothPart


@final
@frozen
class NoW(ClosedFormBlock):
    """No W at all: F(Y, W) = F(Y), G = 0, and W is ``None``."""

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> None:
        return None

    def of_measurements(self, z: Any) -> None:
        """W, for what sees Y through measurements."""
        return

    def value(self, W: None) -> float:
        return 0.0
