"""The settings of a live server that decide how statements run, as far as a machine of the lab can have them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pgclinic.checkup.case import Case
from pgclinic.model.snapshot import SettingState
from pgclinic.settings.units import amount_of, shown_value

_SET_FOR_ALL = frozenset(("configuration file", "command line", "environment variable", "database", "global"))
#: As ``capture twin`` takes them: what plans, memory, vacuum and WAL depend on, and nothing that names a place.
_TAKEN = re.compile(
    r"Query Tuning|Resource Usage|Vacuuming|Autovacuum|Write-Ahead Log / (Settings|Checkpoints)|Lock Management"
)
#: Two servers run at once, beside their clients and the page cache.
BUFFERS_SHARE = 0.2
_BUFFERS = "shared_buffers"


def live_settings(case: Case) -> dict[str, str]:
    """The settings that somebody has set, with the values that SHOW prints."""
    return {
        setting.name: shown_value(setting.value, setting.unit)
        for setting in case.snapshot.settings
        if _is_taken(setting)
    }


def fitting(settings: Mapping[str, str], case: Case, memory_bytes: int) -> tuple[dict[str, str], tuple[str, ...]]:
    """The same on a machine with so much memory, and what became smaller, in words."""
    kept = {name: value for name, value in settings.items() if name != "huge_pages"}
    room = int(BUFFERS_SHARE * memory_bytes)
    have = case.number(_BUFFERS) or 0.0
    if _BUFFERS not in kept or have <= room:
        return kept, ()
    smaller = f"{room // 2**20}MB"
    kept[_BUFFERS] = smaller
    return kept, (f"{_BUFFERS} = {smaller} in place of {case.shown(_BUFFERS)}",)


def _is_taken(one: SettingState) -> bool:
    is_set = one.source in _SET_FOR_ALL and one.value != one.default_value
    is_plain = one.kind != "string" and (one.unit is None or amount_of(one.value, one.unit) is not None)
    return is_set and is_plain and _TAKEN.match(one.category) is not None
