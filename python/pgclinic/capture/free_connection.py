"""Another attempt where the server has no connection to spare: a session of ours may still be ending."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pgclinic.errors import ServerFullError

_TRIES, _AGAIN_S = 5, 0.2
T = TypeVar("T")


def once_free(call: Callable[[], T]) -> T:
    """What ``call`` gives, tried for a second. Raises ServerFullError and whatever ``call`` raises."""
    for _ in range(_TRIES - 1):
        try:
            return call()
        except ServerFullError:
            time.sleep(_AGAIN_S)
    return call()
