"""The settings that one version of PostgreSQL knows, and what it would say to given values before it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pgclinic.errors import SettingError, UnknownNameError, UsageError
from pgclinic.model.record import Record
from pgclinic.settings.history import where_it_exists
from pgclinic.settings.names import current_name
from pgclinic.settings.values import format_amount, parse_bool, parse_integer, parse_real

_TRUTHS = ("true", "false", "yes", "no", "1", "0")
# Values that work but are listed nowhere.
_UNLISTED_VALUES = {
    "wal_level": ("archive", "hot_standby"),
    "client_min_messages": ("debug", "info"),
    "log_min_messages": ("debug",),
    "log_min_error_statement": ("debug",),
    "archive_mode": _TRUTHS,
    "backslash_quote": _TRUTHS,
    "password_encryption": _TRUTHS,
}


class Setting(Record):
    """One row of pg_settings. ``min_val`` and ``max_val`` are in units of ``unit``."""

    name: str
    context: str
    vartype: str
    category: str
    setting: str | None = None
    unit: str | None = None
    min_val: str | None = None
    max_val: str | None = None
    enumvals: tuple[str, ...] | None = None
    boot_val: str | None = None


class SettingsCatalog(Record):
    """All settings of one build."""

    version: str
    major: int
    settings: tuple[Setting, ...]

    def find(self, name: str) -> Setting | None:
        """The setting of that name in any case, also by a former name the server still understands."""
        wanted = current_name(name, self.major).lower()
        return next((setting for setting in self.settings if setting.name.lower() == wanted), None)

    def names(self) -> Iterable[str]:
        return (setting.name for setting in self.settings)


def checked_settings(catalog: SettingsCatalog, settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings under their catalog names, after checking name, context, type, unit and range of each.

    A name with a dot belongs to an extension and is taken as it is. Raises UnknownNameError or SettingError.
    """
    checked: dict[str, str] = {}
    for given, value in settings.items():
        setting = catalog.find(given)
        if setting is None:
            if "." in given:
                checked[given] = value
                continue
            raise _unknown(given, catalog)
        if setting.name in checked:
            raise SettingError(f"{setting.name} is given twice")
        _check(setting, value, catalog)
        checked[setting.name] = value
    return checked


def _unknown(given: str, catalog: SettingsCatalog) -> UsageError:
    """Where another version has it that is said, for the nearest name that this one has would mislead."""
    elsewhere = where_it_exists(given, catalog.version)
    if elsewhere is not None:
        return SettingError(f"PostgreSQL {catalog.version} has no setting {given}", hint=elsewhere)
    return UnknownNameError("setting", given, catalog.names(), where=f"PostgreSQL {catalog.version}")


def _check(setting: Setting, value: str, catalog: SettingsCatalog) -> None:
    if setting.context == "internal":
        built = f"PostgreSQL {catalog.version} was built or initialised with {setting.setting}"
        raise SettingError(f"{setting.name} cannot be set: {built}")
    if "\0" in value:
        raise SettingError(f"{setting.name} contains a null byte")
    try:
        match setting.vartype:
            case "bool":
                parse_bool(value)
            case "integer":
                _check_range(setting, parse_integer(value, setting.unit, catalog.major))
            case "real":
                _check_range(setting, parse_real(value, setting.unit, catalog.major))
            case "enum":
                _check_enum(setting, value)
    except ValueError as error:
        raise SettingError(f"{setting.name} = {value!r}: {error}", hint=f"PostgreSQL {catalog.version}") from None


def _check_range(setting: Setting, value: float) -> None:
    low, high = float(setting.min_val or "-inf"), float(setting.max_val or "inf")
    if not low <= value <= high:
        raise ValueError(
            f"it is outside {format_amount(low, setting.unit)} to {format_amount(high, setting.unit)}"
            + (f" (base unit {setting.unit})" if setting.unit else "")
        )


def _check_enum(setting: Setting, value: str) -> None:
    listed = setting.enumvals or ()
    unlisted = _UNLISTED_VALUES.get(setting.name, ())
    if {"on", "off"} <= set(listed):
        unlisted += _TRUTHS
    if value.lower() not in {word.lower() for word in (*listed, *unlisted)}:
        raise UnknownNameError(f"value of {setting.name}:", value, listed)
