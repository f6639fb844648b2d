"""Values of the options that pgbench does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pgclinic.bench.request import LabWanted
from pgclinic.errors import UsageError
from pgclinic.judge.thresholds import parse_threshold
from pgclinic.model.threshold import Threshold
from pgclinic.settings.words import parse_settings
from pgclinic.twin.wanted import TwinWanted

_UNITS_S = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0}


def warm_up_s(text: str | None) -> float:
    """``5s`` -> 5.0; 0 when not given. Raises UsageError."""
    if text is None:
        return 0.0
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in _UNITS_S:
        raise UsageError(f"--warm-up {text!r} is not a valid duration", hint="write --warm-up 5s")
    return float(match[1]) * _UNITS_S[match[2]]


def lab_wanted(version: str, settings: Sequence[str], twin: TwinWanted | None = None) -> LabWanted:
    """The lab's server; an empty ``version`` is the embedded one. Raises UsageError for a bad setting."""
    return LabWanted(version=version or None, settings=parse_settings(settings), twin=twin)


def twin_wanted(path: str | None, scale: str | None) -> TwinWanted | None:
    """The twin, None if none is asked for. Raises UsageError for a scale that is not above 0."""
    if path is None:
        return None
    try:
        wanted = 1.0 if scale is None else float(scale)
    except ValueError:
        wanted = 0.0
    if not 0 < wanted < float("inf"):
        raise UsageError(f"--twin-scale {scale!r} is not a number above 0", hint="write --twin-scale 0.1")
    return TwinWanted(path=Path(path), scale=wanted)


def find_rate_target(text: str | None) -> Threshold | None:
    """What a rate must keep, such as ``p99<20ms``. Raises UsageError when it could never be lost or kept."""
    if text is None:
        return None
    target = parse_threshold(text, "--find-rate")
    if target.metric == "tps" or not target.comparison.startswith("<"):
        raise UsageError(
            f"--find-rate {text!r} is not a limit that a higher rate can exceed", hint='write --find-rate "p99<20ms"'
        )
    return target
