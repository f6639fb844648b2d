"""Names of settings as pg_settings has them: PostgreSQL reads them in any case, so they are made one once. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pgclinic.errors import SettingError

#: All others are in lower case.
_MIXED = {name.lower(): name for name in ("DateStyle", "IntervalStyle", "TimeZone")}
#: Names that the server still accepts for another setting, and since which major version.
_OLD_NAMES = {
    "sort_mem": ("work_mem", 9),
    "vacuum_mem": ("maintenance_work_mem", 9),
    "force_parallel_mode": ("debug_parallel_query", 16),
    "ssl_ecdh_curve": ("ssl_groups", 18),
}


def canonical_name(name: str) -> str:
    """The name as pg_settings has it, if it has one that differs in case alone."""
    return _MIXED.get(name.lower(), name.lower())


def current_name(name: str, major: int) -> str:
    """The setting that a server of this version takes ``name`` for, former names included."""
    canonical = canonical_name(name)
    current, since = _OLD_NAMES.get(canonical, (canonical, 0))
    return current if major >= since else canonical


def canonical_names(settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings under their canonical names. Raises SettingError where one is given twice."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        canonical = canonical_name(name)
        if canonical in found:
            raise SettingError(f"{canonical} is given twice", hint="names of settings are the same in any case")
        found[canonical] = value
    return found
