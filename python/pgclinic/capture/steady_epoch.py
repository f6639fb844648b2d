"""Times since 1970 whose differences are right: the wall clock is read once, and may be set afterwards."""

from __future__ import annotations

import time


class SteadyEpoch:
    """The wall clock as it was when this was made, and the monotonic clock since."""

    def __init__(self) -> None:
        self.began_epoch_s = time.time()
        self._began_s = time.monotonic()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def epoch_s(self) -> float:
        return self.began_epoch_s + self.elapsed_s()
