"""Which settings of another server, or of a file, a server of the lab may start with. Pure.

A configuration from elsewhere may name commands, libraries and files. So a text is taken over only where it is known to
be no more than a text, and anything else unless it decides where the lab's server is and who reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pgclinic.settings.catalog import Setting, SettingsCatalog

#: Settings whose value is any text. All others of that kind name a command, a library, a file, a host or a role.
TEXTS = frozenset(
    (
        *("search_path", "TimeZone", "log_timezone", "DateStyle", "default_text_search_config"),
        *("lc_messages", "lc_monetary", "lc_numeric", "lc_time", "debug_io_direct", "wal_consistency_checking"),
        *("default_table_access_method", "log_line_prefix", "restrict_nonsystem_relation_kind"),
    )
)
#: What else a server of the lab decides by itself: where it listens, and servers that it would wait for.
_OF_THE_LAB = frozenset(
    (
        *("port", "unix_socket_permissions", "ssl", "archive_mode", "hot_standby_feedback", "allow_alter_system"),
        *("exit_on_error", "restart_after_crash", "recovery_target_inclusive", "recovery_target_action"),
    )
)
_NOT_TAKEN = ("Preset Options", "File Locations", "Customized Options")


@dataclass(frozen=True)
class PortableSettings:
    """``settings`` that may be taken over, ``left_out`` the names of the others.

    ``included`` are lines of a file that name other files, which are not read.
    """

    settings: dict[str, str]
    left_out: tuple[str, ...]
    included: tuple[str, ...] = ()


def portable_settings(catalog: SettingsCatalog, settings: Mapping[str, str]) -> PortableSettings:
    """Divide settings by what a server of this version says of them.

    A name that it does not know stays, so that whoever checks the settings says so; one with a dot is of an extension
    that the lab does not load, and is left out.
    """
    kept = {
        name: value for name, value in settings.items() if "\0" not in value and _is_portable(name, catalog.find(name))
    }
    return PortableSettings(kept, tuple(name for name in settings if name not in kept))


def _is_portable(name: str, setting: Setting | None) -> bool:
    if setting is None:
        return "." not in name
    if setting.name in _OF_THE_LAB or setting.category.startswith(_NOT_TAKEN):
        return False
    return setting.vartype != "string" or setting.name in TEXTS
