"""Random numbers of the operating system, many at a time: nobody can draw them again."""

from __future__ import annotations

import os
from random import Random

_BYTES = 65_536


class SecretRandom(Random):
    """Like SystemRandom, which asks the operating system for every single number and takes ten times as long."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = b""
        self._at = 0

    def random(self) -> float:
        return (int.from_bytes(self._taken(7)) >> 3) * 2.0**-53

    def getrandbits(self, k: int) -> int:
        many = (k + 7) // 8
        return int.from_bytes(self._taken(many)) >> (many * 8 - k)

    def _taken(self, many: int) -> bytes:
        if self._at + many > len(self._bytes):
            self._bytes, self._at = os.urandom(max(_BYTES, many)), 0
        taken = self._bytes[self._at : self._at + many]
        self._at += many
        return taken
