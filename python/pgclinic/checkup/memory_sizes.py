"""Memory of a server: how much its machine or group has, and sizes as settings take them."""

from __future__ import annotations

import math

from pgclinic.checkup.case import Case
from pgclinic.settings.units import amount_of

_MB = 1 << 20


def memory_limit(case: Case) -> int | None:
    """Bytes that the server may use: those of the machine, or of its control group where that has less."""
    if case.host is None:
        return None
    group = case.host.group_memory_bytes
    return min(case.host.memory_bytes, group) if group else case.host.memory_bytes


def vacuum_bytes(case: Case) -> float:
    """What automatic vacuums may use at a time."""
    own = case.number("autovacuum_work_mem") or -1.0
    each = own if own > 0 else case.number("maintenance_work_mem") or 0.0
    return each * (case.number("autovacuum_max_workers") or 0.0)


def size_of(text: str, unit: str) -> float:
    """Bytes of a size as people write it, 8MB; without a unit of its own it is in ``unit``."""
    digits = text.strip().rstrip("BkMGT ")
    return amount_of(digits, text.strip()[len(digits) :].strip() or unit) or 0.0


def size_text(size: float) -> str:
    """A size in whole MB or GB, rounded up, as a setting takes it."""
    megabytes = max(math.ceil(size / _MB), 1)
    return f"{megabytes // 1024}GB" if megabytes % 1024 == 0 else f"{megabytes}MB"


def round_down(size: float) -> int:
    """Down to a power of two, so that a figure that was measured does not look as if it had to be exactly so."""
    return 1 << max(int(math.log2(max(size, _MB))), 20)
