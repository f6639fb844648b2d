"""What a faster configuration may not cost: tail latency and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.trial import TrialRecord
from pgclinic.model.version import NEWEST_MAJOR, parse_version
from pgclinic.settings.units import BUFFERS_DEFAULT, buffers_bytes
from pgclinic.stats.summary import mean


@dataclass(frozen=True)
class Guard:
    """``p99_times`` is how many times the base's p99 latency may become; ``memory_bytes`` what the server may use."""

    p99_times: float | None = None
    memory_bytes: float | None = None

    def breach(self, records: Sequence[TrialRecord], bases: Sequence[TrialRecord]) -> str | None:
        """Why the configuration of these trials is not allowed, in figures; None where it is.

        The tail of one short trial is noise, so the geometric means of all trials of each are compared.
        """
        before, after = _typical_p99_us(bases), _typical_p99_us(records)
        if self.p99_times is not None and before and after and after > self.p99_times * before:
            return f"p99 latency {after / before:.2f} times that of the base"
        used = max((seen for record in records if (seen := memory_bytes(record)) is not None), default=None)
        if self.memory_bytes is not None and used is not None and used > self.memory_bytes:
            return f"{used / 2**20:,.0f} MB of memory"
        return None


def _typical_p99_us(records: Sequence[TrialRecord]) -> float | None:
    logs = [math.log(seen) for record in records if (seen := p99_us(record))]
    return math.exp(mean(logs)) if logs else None


def p99_us(record: TrialRecord) -> float | None:
    load = record.load
    return float(load.latency.p99_us) if load is not None and load.latency.count else None


def memory_bytes(record: TrialRecord) -> float | None:
    """The most that its processes had for themselves at a time, and its shared buffers."""
    looks = [sum(row.rss_anon_bytes for row in look.kinds) for look in record.processes]
    if not looks:
        return None
    major = parse_version(record.server_version).major if record.server_version is not None else NEWEST_MAJOR
    asked = record.settings.get("shared_buffers", record.spec.settings.get("shared_buffers", BUFFERS_DEFAULT))
    try:
        buffers = buffers_bytes(asked, major)
    except ValueError:
        return None
    return max(looks) + buffers
