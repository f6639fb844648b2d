"""In which branches of PostgreSQL a setting exists, as each branch's pg_settings says (tools/write-setting-history)."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.model.version import parse_version


class SettingSpan(Record):
    """The first and the last branch that has a setting; None where it is the oldest or the newest of all."""

    since: str | None = None
    until: str | None = None


class SettingHistory(Record):
    """The settings that not all of ``branches`` have, by their names in lower case."""

    branches: tuple[str, ...]
    settings: dict[str, SettingSpan]


@lru_cache(maxsize=1)
def setting_history() -> SettingHistory:
    text = (resources.files("pgclinic.settings") / "history.json").read_bytes()
    return decoded_json(text, SettingHistory)


def where_it_exists(name: str, version: str) -> str | None:
    """``io_method exists from PostgreSQL 18 on``: where to find what ``version`` lacks.

    None for a name that no branch has, or that all have.
    """
    history = setting_history()
    span = history.settings.get(name.lower())
    if span is None:
        return None
    branch, places = parse_version(version).branch, {one: at for at, one in enumerate(history.branches)}
    first, last = places[span.since or history.branches[0]], places[span.until or history.branches[-1]]
    if first <= places.get(branch, -1) <= last:
        return f"{name} came to PostgreSQL {branch} in a later minor release"
    if span.until is None:
        return f"{name} exists from PostgreSQL {span.since} on"
    if span.since is None:
        return f"{name} exists up to PostgreSQL {span.until}"
    if span.since == span.until:
        return f"{name} exists in PostgreSQL {span.since} only"
    return f"{name} exists in PostgreSQL {span.since} to {span.until}"
