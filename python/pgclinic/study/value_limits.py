"""What the numbers, names and texts of a study may be: whatever would fail only when all trials have been run.

A number has to be finite and inside the limits of its field; a name has to do for a file, a key and a column; no text
may hold a NUL, which neither SQL nor an operating system takes.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import fields

from pgclinic.errors import StudyFileError
from pgclinic.model.horizon import ReplayedHold
from pgclinic.model.study import (
    ArmFile,
    Claim,
    Condition,
    Mechanism,
    Profile,
    Published,
    PublishedRatio,
    PublishedWindow,
    Since,
    Step,
    Study,
    TpccWorkload,
    Workload,
    WorkloadChange,
)
from pgclinic.study.toml_lines import KeyPath, Where, inside

Limits = tuple[float, float]

#: A millisecond to 115 days.
_SOME_TIME: Limits = (1e-3, 1e7)
_ANY_TIME: Limits = (0, 1e7)
#: Beyond these the logarithms that verdicts are made of say nothing any more.
_RATIO: Limits = (1e-6, 1e6)
_SIZE: Limits = (1e-12, 1e15)
#: What max_connections can be at most.
_SESSIONS_MAX = 262_143
_ANY: Limits = (0, 1e15)
_NAME_BYTES_MAX = 100

_LIMITS: dict[tuple[type, str], Limits] = {
    (Step, "at_s"): _ANY_TIME,
    (Step, "every_s"): _SOME_TIME,
    (Condition, "release_at_s"): _SOME_TIME,
    (Condition, "idle_sessions"): (0, _SESSIONS_MAX),
    (Condition, "checkpoint_every_s"): _SOME_TIME,
    (Condition, "replay_s"): _SOME_TIME,
    (Condition, "replay_hold_s_max"): _SOME_TIME,
    (ReplayedHold, "at_s"): _ANY_TIME,
    (ReplayedHold, "until_s"): _SOME_TIME,
    (TpccWorkload, "max_tries"): (0, 2**31 - 1),
    (Workload, "clients"): (1, _SESSIONS_MAX),
    (Workload, "threads"): (1, 1024),
    (WorkloadChange, "clients"): (1, _SESSIONS_MAX),
    (Profile, "warm_up_s"): _ANY_TIME,
    (Profile, "measure_s"): _SOME_TIME,
    (Profile, "blocks_min"): (2, 1e9),
    (Profile, "blocks_max"): (2, 1e9),
    (Profile, "budget_s"): _SOME_TIME,
    (Profile, "calibration_s"): _ANY_TIME,
    (Profile, "overrun_s"): _ANY_TIME,
    (Profile, "warehouses"): (1, 1e6),
    (Profile, "clients"): (1, _SESSIONS_MAX),
    (Profile, "threads"): (1, 1024),
    (Mechanism, "ratio_min"): (0, 1e6),
    (PublishedWindow, "window_s"): _SOME_TIME,
    (PublishedRatio, "ratio"): _RATIO,
    (Published, "ratio"): _RATIO,
    (Claim, "reference_value"): _SIZE,
    (Claim, "tail_s"): _SOME_TIME,
    # An edge that is infinite, or 0, leaves its side open.
    (Claim, "region"): (0, math.inf),
    (ArmFile, "level"): _SIZE,
    (Since, "major"): (1, 1000),
}


def check_values(study: Study, where: Where) -> None:
    """Raise StudyFileError for the first number, name or text that cannot be used; it names the key."""
    for path, value, limits in _values(study, (), _ANY):
        reason = _refused_text(value) if isinstance(value, str) else _refused_number(value, limits)
        if reason is not None:
            words = ".".join(key for key in path if isinstance(key, str))
            raise StudyFileError(f"{inside(where, *path, words=words)} {reason}")
    _check_name(study.name, inside(where, "name", words="name"))
    metrics = ("workload.custom_metrics", study.workload.custom_metrics)
    tables = (("arms", study.arms), ("profiles", study.profiles), metrics)
    for key, known in tables:
        for name in known:
            _check_name(name, inside(where, *key.split("."), name, words=key))
    for number, claim in enumerate(study.claims):
        _check_name(claim.name, inside(where, "claims", number, "name", words="claims.name"))


def _values(value: Any, path: KeyPath, limits: Limits) -> Iterator[tuple[KeyPath, Any, Limits]]:
    """Every number and text with its path; a collection has the limits of its field."""
    if isinstance(value, msgspec.Struct):
        for field in fields(value):
            inner = _LIMITS.get((type(value), field.name), _ANY)
            yield from _values(getattr(value, field.name), (*path, field.encode_name), inner)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield (*path, ascii(key)), key, limits
            yield from _values(one, (*path, key), limits)
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from _values(one, (*path, number), limits)
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        yield path, value, limits


def _refused_text(value: str) -> str | None:
    return "has a NUL character, which no server accepts" if "\0" in value else None


def _refused_number(value: float, limits: Limits) -> str | None:
    low, high = limits
    if isinstance(value, float) and not math.isfinite(value) and (math.isnan(value) or math.isfinite(high)):
        return f"is {value}: it must be a finite number"
    if not low <= value <= high:
        return f"is {_shown(value)}: it must be from {low:g} to {high:g}"
    if value != 0 and abs(value) < sys.float_info.min:
        return f"is {value}: it is too small to calculate with; write 0"
    return None


def _shown(value: float) -> str:
    if isinstance(value, int) and abs(value) >= 10**18:
        return "an integer of more than 18 digits"
    return f"{value}"


def _check_name(name: str, place: Where) -> None:
    shown = ascii(name) if len(name) <= _NAME_BYTES_MAX else f"{name[:_NAME_BYTES_MAX]!a} ..."
    if not name.strip() or name in (".", ".."):
        raise StudyFileError(f"{place}: {shown} cannot be a name")
    if len(name.encode()) > _NAME_BYTES_MAX:
        raise StudyFileError(f"{place}: {shown} is too long for a name: at most {_NAME_BYTES_MAX} bytes")
    bad = next((one for one in name if one in "/\\" or unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp")), None)
    if bad is not None:
        raise StudyFileError(f"{place}: {shown} cannot be a name: {bad!a} is not allowed in one")
