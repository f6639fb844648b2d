"""The values that a search may try: what the prior advises, and the extremes of everything else. Pure.

Worst configurations lie at extremes and at special values, so a setting that nobody has advised on is tried at both
ends of its range, a switch the other way round, and a choice at each of its values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from pgclinic.errors import UsageError
from pgclinic.model.tuning import Aim, Risk, SettingLevel
from pgclinic.settings.catalog import Setting, SettingsCatalog, checked_settings
from pgclinic.settings.units import amount_of
from pgclinic.settings.values import parse_bool
from pgclinic.tune.prior import Advice, HostSize, Prior, literal

#: More of the machine's memory than this is more than a server may ask for.
MEMORY_SHARE = 0.5
_SHARED = ("Resource Usage / Memory", "Write-Ahead Log / Settings")
#: Of what nobody has advised on, these come first: they decide how much work a statement is.
_FIRST = ("Resource Usage", "Write-Ahead Log", "Query Tuning")
#: What these decide is where a server is, who may connect, and what its copies do: not how fast it works.
_NEVER = (
    "Preset Options",
    "File Locations",
    "Customized Options",
    "Error Handling",
    "Connections and Authentication",
    "Replication",
    "Client Connection Defaults / Locale",
    "Version and Platform Compatibility",
    "Reporting and Logging / Where to Log",
)


def levels_of(
    catalog: SettingsCatalog,
    prior: Prior,
    aim: Aim,
    *,
    base: Mapping[str, str],
    machine: HostSize,
    taken: Collection[str] = (),
) -> tuple[SettingLevel, ...]:
    """All of them in the order in which they are worth trying: the heaviest of the prior first, the unknown last.

    ``base`` has the settings from which the search starts, ``taken`` those that it must leave alone.
    """
    advised = [
        level for advice in prior.advice(aim) if (level := _advised(advice, catalog, prior, machine)) is not None
    ]
    known = {name for level in advised for name in level.settings}
    others = [
        level
        for setting in sorted(catalog.settings, key=lambda one: not one.category.startswith(_FIRST))
        if setting.name not in known and setting.context != "internal" and not setting.category.startswith(_NEVER)
        for level in _extremes(setting, prior, machine)
    ]
    found = [
        level
        for level in [*sorted(advised, key=lambda one: -one.weight), *others]
        if not set(level.settings) & set(taken) and not _is_base(level, catalog, base)
    ]
    return tuple(found)


def allowed(
    levels: Iterable[SettingLevel], risks: Collection[Risk]
) -> tuple[tuple[SettingLevel, ...], tuple[SettingLevel, ...]]:
    """The levels that may be tried, and those that may not."""
    may = tuple(level for level in levels if level.risk is Risk.NONE or level.risk in risks)
    return may, tuple(level for level in levels if level not in may)


def _advised(one: Advice, catalog: SettingsCatalog, prior: Prior, machine: HostSize) -> SettingLevel | None:
    """None where this version has no such setting or value; what is advised beside it may be missing."""
    setting = catalog.find(one.setting)
    if setting is None:
        return None
    value = literal(one.value, setting, machine)
    if not _is_valid(catalog, setting.name, value):
        return None
    together = {}
    for name, wanted in one.together.items():
        beside = catalog.find(name)
        if beside is not None:
            also = literal(wanted, beside, machine)
            if _is_valid(catalog, beside.name, also):
                together[beside.name] = also
    return SettingLevel(
        setting=setting.name,
        value=value,
        risk=one.risk or _risk(setting, value, prior, machine),
        needs_restart=setting.context == "postmaster",
        weight=one.weight,
        reason=one.reason,
        source=one.source,
        together=together,
    )


def _is_valid(catalog: SettingsCatalog, name: str, value: str) -> bool:
    try:
        checked_settings(catalog, {name: value})
    except UsageError:
        return False
    return True


def _extremes(setting: Setting, prior: Prior, machine: HostSize) -> Iterator[SettingLevel]:
    for value in _values(setting):
        yield SettingLevel(
            setting=setting.name,
            value=value,
            risk=_risk(setting, value, prior, machine),
            needs_restart=setting.context == "postmaster",
        )


def _values(setting: Setting) -> tuple[str, ...]:
    default = setting.boot_val if setting.boot_val is not None else setting.setting
    match setting.vartype:
        case "bool":
            return ("off" if default is not None and parse_bool(default) else "on",)
        case "enum":
            return tuple(value for value in setting.enumvals or () if value != default)
        case "integer" | "real":
            ends = (setting.min_val, setting.max_val)
            return tuple(end for end in dict.fromkeys(ends) if end is not None and end != default)
        case _:
            return ()


def _risk(setting: Setting, value: str, prior: Prior, machine: HostSize) -> Risk:
    known = prior.risk_of(setting.name)
    if known is not Risk.NONE:
        return known
    return Risk.EXCEEDS_MEMORY if _is_too_much(setting, value, machine) else Risk.NONE


def _is_too_much(setting: Setting, value: str, machine: HostSize) -> bool:
    """More than the machine can give, if all that may be asked for is asked for."""
    is_memory = setting.unit is not None and setting.unit.endswith("B")
    if not is_memory or not setting.category.startswith(_SHARED):
        # Counts of processes, slots and locks take memory as well: their extremes are a hundred thousand and more.
        counts = setting.context == "postmaster" and setting.vartype == "integer" and setting.unit is None
        return counts and value.isdigit() and int(value) > 10_000
    return (amount_of(value, setting.unit) or 0.0) > MEMORY_SHARE * machine.memory_bytes


def _is_base(level: SettingLevel, catalog: SettingsCatalog, base: Mapping[str, str]) -> bool:
    """Whether the base already has it."""
    for name, value in level.settings.items():
        setting = catalog.find(name)
        have = base.get(name, setting.boot_val if setting is not None else None)
        if have != value:
            return False
    return True
