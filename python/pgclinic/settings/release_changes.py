"""What becomes of the settings of a server when another major version reads them. Pure.

Both catalogs are what the servers themselves report, so this knows nothing of releases by heart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pgclinic.errors import PgclinicError
from pgclinic.model.upgrade import SettingChange, SettingChangeKind
from pgclinic.settings.catalog import Setting, SettingsCatalog, checked_settings
from pgclinic.settings.names import current_name
from pgclinic.settings.units import shown_value

#: The categories that a twin records, as pg/queries/twin_settings says.
_CAPTURED = re.compile(
    r"Query Tuning|Resource Usage|.*[Aa]?[Vv]acuum|Write-Ahead Log / (?!.*(?:Archiv|Recovery))|Statistics"
    r"|Lock Management|Version and Platform Compatibility|Client Connection Defaults / (?!.*Preloading)"
)
#: These describe a build, a cluster or its place.
_NO_DEFAULTS = (
    *("Preset Options", "File Locations", "Customized Options", "Developer Options"),
    "Connections and Authentication / SSL",
)
_OF_MACHINES = frozenset(
    (
        *("TimeZone", "log_timezone", "lc_messages", "lc_monetary", "lc_numeric", "lc_time", "DateStyle"),
        *("dynamic_shared_memory_type", "shared_memory_type", "unix_socket_directories", "wal_sync_method"),
        *("default_text_search_config", "krb_server_keyfile", "application_name", "max_stack_depth", "client_encoding"),
    )
)
#: Before or after which values are written in a form of their own.
_MISSING = (None, "")


def setting_changes(
    before: SettingsCatalog, after: SettingsCatalog, original: Mapping[str, str]
) -> tuple[SettingChange, ...]:
    """All that differs for a server that has set ``original`` and leaves the rest at its defaults.

    What it has set comes first, then defaults that the twin records, then others.
    """
    found = [*_of_set(before, after, original), *_defaults(before, after, original)]
    order = list(SettingChangeKind)
    return tuple(sorted(found, key=lambda one: (order.index(one.kind), not one.is_known, one.setting)))


def _of_set(before: SettingsCatalog, after: SettingsCatalog, original: Mapping[str, str]) -> Iterator[SettingChange]:
    for name, value in original.items():
        old, new = before.find(name), after.find(name)
        if "." in name or old is None:
            continue
        if new is None:
            yield SettingChange(setting=name, kind=SettingChangeKind.GONE, before=value)
            continue
        if new.name != old.name and current_name(old.name, after.major) == new.name:
            yield SettingChange(setting=name, kind=SettingChangeKind.RENAMED, before=old.name, after=new.name)
        refusal = _refusal(after, name, value)
        if refusal is not None:
            yield SettingChange(setting=name, kind=SettingChangeKind.REFUSED, before=value, detail=refusal)
        elif (old.vartype, old.unit) != (new.vartype, new.unit):
            yield SettingChange(
                setting=name, kind=SettingChangeKind.READ_OTHERWISE, before=_reading(old), after=_reading(new)
            )


def _reading(setting: Setting) -> str:
    """How a value is read: integer in 8kB."""
    return setting.vartype if setting.unit is None else f"{setting.vartype} in {setting.unit}"


def _refusal(catalog: SettingsCatalog, name: str, value: str) -> str | None:
    try:
        checked_settings(catalog, {name: value})
    except PgclinicError as error:
        return error.message
    return None


def _defaults(before: SettingsCatalog, after: SettingsCatalog, original: Mapping[str, str]) -> Iterator[SettingChange]:
    has = {setting.name for name in original if (setting := before.find(name)) is not None}
    for old in before.settings:
        new = after.find(old.name)
        if new is None or old.name in has or old.name in _OF_MACHINES or old.category.startswith(_NO_DEFAULTS):
            continue
        values = _default(old), _default(new)
        if values[0] != values[1] and not (old.boot_val in _MISSING and new.boot_val in _MISSING):
            yield SettingChange(
                setting=old.name,
                kind=SettingChangeKind.DEFAULT,
                before=values[0],
                after=values[1],
                is_known=_CAPTURED.match(old.category) is not None,
            )


def _default(setting: Setting) -> str | None:
    return None if setting.boot_val is None else shown_value(setting.boot_val, setting.unit)


def settings_there(after: SettingsCatalog, original: Mapping[str, str]) -> dict[str, str]:
    """Those of ``original`` that the other version has and whose values it takes, under its own names."""
    return {
        setting.name: value
        for name, value in original.items()
        if (setting := after.find(name)) is not None and _refusal(after, name, value) is None
    }
