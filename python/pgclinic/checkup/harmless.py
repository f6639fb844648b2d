"""No treatment causes a finding: one that raises a number is applied to the case, and the detectors run again.

Only detectors that read a setting that changes can see another case, so only those run again. A value that causes a
finding is halved until it causes none; a treatment for which no higher value than the present one is left is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.detect import detect
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.role_settings import role_setting_of
from pgclinic.model.finding import Finding, Treatment
from pgclinic.model.snapshot import SettingState
from pgclinic.settings.units import amount_of, shown_value

_AMOUNT = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
#: 1 GB is halved to 1 MB in ten steps.
_HALVINGS_MAX = 12


def without_harm(
    case: Case,
    findings: Sequence[Finding],
    known: Mapping[str, Pathology],
    read: Mapping[str, Set[str]] | None = None,
) -> tuple[Finding, ...]:
    """The same findings; their treatments cause no finding that ``case`` does not have.

    ``read`` are the settings that each pathology's detector reads, see ``settings_read``. One that reads none of those
    that change comes to the same conclusion whatever their values are.
    """
    raising = {name for finding in findings for treatment in finding.treatments for name in raised_by(case, treatment)}
    if not raising:
        return tuple(findings)
    read = settings_read(case, known) if read is None else read
    readers = {
        name: one for name, one in known.items() if read.get(name, raising) & raising or "role_settings" in one.needs
    }
    return tuple(_checked(case, finding, findings, readers) for finding in findings)


def caused_by(
    case: Case, treatment: Treatment, findings: Sequence[Finding], known: Mapping[str, Pathology]
) -> tuple[Finding, ...]:
    """What is found in the case with this treatment given, and is not among ``findings`` or is more severe there."""
    before = {finding.key: finding.severity.rank for finding in findings}
    seen, _ = detect(treated(case, treatment), known.values())
    return tuple(one for one in seen if one.severity.rank > before.get(one.key, -1))


def raised_by(case: Case, treatment: Treatment) -> tuple[str, ...]:
    """The settings of which this treatment raises the number, for all sessions or for those of a role."""
    return tuple(
        name
        for name, value in _values(treatment).items()
        if (wanted := _amount(case, name, value)) is not None and wanted > (case.number(name) or 0.0)
    )


def treated(case: Case, treatment: Treatment) -> Case:
    """The same case with the treatment's settings in force."""
    changed = {
        name: _state(case.settings[name], value) for name, value in treatment.settings.items() if name in case.settings
    }
    settings = tuple(changed.get(setting.name, setting) for setting in case.snapshot.settings)
    roles = case.snapshot.role_settings
    role = role_setting_of(treatment)
    if role is not None:
        others = [one for one in roles if (one.role, one.database, one.name) != (role.role, None, role.name)]
        roles = (*others, role)
    return Case(replace(case.snapshot, settings=settings, role_settings=roles), host=case.host, log=case.log)


def _checked(case: Case, finding: Finding, findings: Sequence[Finding], known: Mapping[str, Pathology]) -> Finding:
    kept = [
        found for treatment in finding.treatments if (found := _harmless(case, treatment, findings, known)) is not None
    ]
    return finding if tuple(kept) == finding.treatments else replace(finding, treatments=tuple(kept))


def _harmless(
    case: Case, treatment: Treatment, findings: Sequence[Finding], known: Mapping[str, Pathology]
) -> Treatment | None:
    names = raised_by(case, treatment)
    if not names:
        return treatment
    for tried in _lowered(case, treatment, names):
        if not caused_by(case, tried, findings, known):
            return tried
    return None


def _lowered(case: Case, treatment: Treatment, names: Sequence[str]) -> Iterator[Treatment]:
    """The treatment itself, then with half of what it raises, as long as that is more than there is."""
    tried = treatment
    for _ in range(_HALVINGS_MAX):
        yield tried
        for name in names:
            value = _values(tried)[name]
            half = _half(case, name, value)
            if half is None:
                return
            tried = _with_value(tried, name, value, half)


def _half(case: Case, name: str, value: str) -> str | None:
    wanted, now, unit = _amount(case, name, value), case.number(name) or 0.0, case.settings[name].unit
    if wanted is None or wanted / 2 <= now:
        return None
    units = wanted / 2 / (amount_of("1", unit) or 1.0)
    if case.settings[name].kind == "real":
        return f"{units:g}"
    return shown_value(str(int(units)), unit) if int(units) * (amount_of("1", unit) or 1.0) > now else None


def _with_value(treatment: Treatment, name: str, value: str, lower: str) -> Treatment:
    """Also the title and the statements name the value."""
    settings = treatment.settings | {name: lower} if name in treatment.settings else treatment.settings
    named = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w.])")
    return replace(
        treatment,
        title=named.sub(lower, treatment.title),
        settings=settings,
        sql=tuple(named.sub(lower, one) for one in treatment.sql),
    )


def _values(treatment: Treatment) -> dict[str, str]:
    role = role_setting_of(treatment)
    return treatment.settings if role is None else treatment.settings | {role.name: role.value}


def _amount(case: Case, name: str, value: str) -> float | None:
    """A value as treatments write it, in bytes, seconds or as it is."""
    found, written = case.settings.get(name), _AMOUNT.fullmatch(value)
    return amount_of(written[1], written[2] or found.unit) if found is not None and written is not None else None


def _state(now: SettingState, value: str) -> SettingState:
    """As pg_settings would show it: the number in the setting's own unit."""
    written = _AMOUNT.fullmatch(value)
    amount = amount_of(written[1], written[2] or now.unit) if written is not None else None
    if amount is None:
        return replace(now, value=value, source="configuration file")
    units = amount / (amount_of("1", now.unit) or 1.0) if amount > 0 else amount
    return replace(now, value=f"{units:.12g}", source="configuration file")


class _Watched(dict[str, SettingState]):
    """Settings that note the names of those that are read; who walks through them reads all."""

    def __init__(self, settings: Mapping[str, SettingState]) -> None:
        super().__init__(settings)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> SettingState:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(self.keys())
        return super().__iter__()

    def values(self) -> Any:
        self.read.update(self.keys())
        return super().values()


def settings_read(case: Case, known: Mapping[str, Pathology]) -> dict[str, frozenset[str]]:
    """The names of the settings that each detector reads in this case."""
    watched, copy = _Watched(case.settings), Case(case.snapshot, host=case.host, log=case.log)
    copy.__dict__["settings"] = watched
    found: dict[str, frozenset[str]] = {}
    for name, pathology in known.items():
        watched.read.clear()
        detect(copy, (pathology,))
        found[name] = frozenset(watched.read)
    return found
