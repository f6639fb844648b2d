"""Values of the options that pgbench does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgclinic.bench.request import LabWanted
from pgclinic.bench.thresholds import parse_condition
from pgclinic.errors import UsageError
from pgclinic.model.bench import Condition
from pgclinic.pg.setting_words import parse_settings

_UNITS_S = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0}


def warm_up_s(text: str | None) -> float:
    """``5s`` -> 5.0; 0 when not given. Raises UsageError."""
    if text is None:
        return 0.0
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in _UNITS_S:
        raise UsageError(f"--warm-up {text!r} is no duration", hint="write --warm-up 5s")
    return float(match[1]) * _UNITS_S[match[2]]


def lab_wanted(version: str, settings: Sequence[str]) -> LabWanted:
    """The lab's server; an empty ``version`` is the embedded one. Raises UsageError for a bad setting."""
    return LabWanted(version=version or None, settings=parse_settings(settings))


def find_rate_target(text: str | None) -> Condition | None:
    """What a rate must keep, such as ``p99<20ms``. Raises UsageError when it could never be lost or kept."""
    if text is None:
        return None
    target = parse_condition(text, "--find-rate")
    if target.metric == "tps" or not target.comparison.startswith("<"):
        raise UsageError(
            f"--find-rate {text!r} is no limit that a higher rate could cross", hint='write --find-rate "p99<20ms"'
        )
    return target
