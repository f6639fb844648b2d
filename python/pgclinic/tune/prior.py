"""What is known beforehand of settings, from prior.toml. Pure, but for reading that file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from pgclinic.model.decoding import converted
from pgclinic.model.record import Record
from pgclinic.model.tuning import Aim, Risk
from pgclinic.settings.catalog import Setting

_MEMORY = re.compile(r"memory(?:\*(?P<times>\d+))?/(?P<parts>\d+)")


class Advice(Record):
    """One value of a setting that is known to matter; see ``SettingLevel``."""

    setting: str
    value: str
    weight: float
    reason: str
    source: str
    risk: Risk | None = None
    together: dict[str, str] = msgspec.field(default_factory=dict)


class Prior(Record):
    """``risks`` has the settings of each class, whatever their value."""

    risks: dict[Risk, tuple[str, ...]]
    worst: tuple[Advice, ...]
    best: tuple[Advice, ...]

    def advice(self, aim: Aim) -> tuple[Advice, ...]:
        return self.worst if aim is Aim.WORST else self.best

    def risk_of(self, setting: str) -> Risk:
        name = setting.lower()
        return next((risk for risk, names in self.risks.items() if name in {one.lower() for one in names}), Risk.NONE)


@dataclass(frozen=True)
class HostSize:
    """What values may depend on."""

    memory_bytes: int
    cores: int


@lru_cache(maxsize=1)
def prior() -> Prior:
    text = (resources.files("pgclinic.tune") / "prior.toml").read_text(encoding="utf-8")
    return converted(_tables(text), Prior)


def _tables(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def literal(value: str, setting: Setting, machine: HostSize) -> str:
    """``min``, ``max``, ``cores`` and ``memory/4`` as this server and machine have them; anything else as it is."""
    if value in ("min", "max"):
        found = setting.min_val if value == "min" else setting.max_val
        return found if found is not None else value
    if value == "cores":
        return str(machine.cores)
    match = _MEMORY.fullmatch(value)
    if match is None:
        return value
    return f"{machine.memory_bytes * int(match['times'] or 1) // int(match['parts']) // 2**20}MB"
