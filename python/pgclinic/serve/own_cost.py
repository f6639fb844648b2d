"""What serving costs the machine: CPU of this process."""

from __future__ import annotations

import time
from collections import deque

from pgclinic.report.live.page import ServingCost

_WINDOW_S = 60.0
_STEP_S = 1.0


class OwnCost:
    """CPU that this process has used, over the last minute; since it began while it is younger."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque([(time.monotonic(), time.process_time())])

    def now(self) -> ServingCost:
        """The share of one core. Nothing is measured while nobody asks: then the window is longer than a minute."""
        now_s, used_s = time.monotonic(), time.process_time()
        while len(self._seen) > 1 and now_s - self._seen[1][0] >= _WINDOW_S:
            self._seen.popleft()
        first_s, first_used_s = self._seen[0]
        if now_s - self._seen[-1][0] >= _STEP_S:
            self._seen.append((now_s, used_s))
        passed_s = max(now_s - first_s, 0.001)
        return ServingCost(share=(used_s - first_used_s) / passed_s, seconds=passed_s)
