"""Which values a server starts with, and the most extreme one where it does not start with the extreme itself.

Values are checked many at a time: a set that starts has no bad value in it, one that does not is halved. What is at
fault is moved towards the base, in equal ratios, until the server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.errors import ServerStartError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.config_check import rejected_settings
from pgclinic.lab.instance import start_server
from pgclinic.lab.settings import check_settings
from pgclinic.model.tuning import AttemptOutcome, LevelTried, SettingLevel
from pgclinic.pg.session import Access, Session
from pgclinic.settings.catalog import SettingsCatalog
from pgclinic.tune.nearer import value_between

AT_ONCE = 8
_HALVINGS = 7
_TIMEOUT_MS = 30_000


@dataclass(frozen=True)
class Started:
    """How far a server came with some settings, with its words where it did not start."""

    outcome: AttemptOutcome
    message: str | None = None


#: Starts a server with these settings.
Start = Callable[[Mapping[str, str]], Started]


def starter(binaries: Binaries, base: Mapping[str, str]) -> Start:
    """``postgres -C`` first, which only reads the settings; then a server on an empty cluster that takes a session."""

    def start(settings: Mapping[str, str]) -> Started:
        whole = {**base, **settings}
        try:
            check_settings(binaries, whole)
        except UsageError as error:
            return Started(AttemptOutcome.REJECTED, error.message)
        rejected = rejected_settings(binaries, whole)
        if rejected is not None:
            return Started(AttemptOutcome.REJECTED, rejected)
        try:
            with start_server(binaries, settings=whole) as running:
                access = Access(running.server)
                with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-check") as session:
                    session.execute("select 1")
        except ServerStartError as error:
            return Started(AttemptOutcome.REFUSED, error.message)
        return Started(AttemptOutcome.DONE)

    return start


def usable_levels(
    levels: Sequence[SettingLevel],
    start: Start,
    catalog: SettingsCatalog,
    on_checked: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[LevelTried, ...]:
    """Every level with what became of it, in the same order."""
    found: dict[int, LevelTried] = {}
    done = 0
    for chunk in _chunks(levels):
        for at, tried in _tried(chunk, start, catalog):
            found[at] = tried
        done += len(chunk)
        on_checked(done, len(levels))
    return tuple(found[at] for at in range(len(levels)))


def _chunks(levels: Sequence[SettingLevel]) -> list[list[tuple[int, SettingLevel]]]:
    """Sets in which no setting has two values."""
    chunks: list[list[tuple[int, SettingLevel]]] = []
    for at, level in enumerate(levels):
        for chunk in chunks:
            taken = {name for _, one in chunk for name in one.settings}
            if len(chunk) < AT_ONCE and not taken & set(level.settings):
                chunk.append((at, level))
                break
        else:
            chunks.append([(at, level)])
    return chunks


def _tried(
    chunk: Sequence[tuple[int, SettingLevel]], start: Start, catalog: SettingsCatalog
) -> list[tuple[int, LevelTried]]:
    settings = {name: value for _, level in chunk for name, value in level.settings.items()}
    seen = start(settings)
    if seen.outcome is AttemptOutcome.DONE:
        return [(at, LevelTried(level=level, outcome=AttemptOutcome.DONE)) for at, level in chunk]
    if len(chunk) > 1:
        middle = len(chunk) // 2
        return _tried(chunk[:middle], start, catalog) + _tried(chunk[middle:], start, catalog)
    at, level = chunk[0]
    nearer = _nearest_that_starts(level, start, catalog)
    if nearer is None:
        return [(at, LevelTried(level=level, outcome=seen.outcome, message=seen.message))]
    return [(at, LevelTried(level=nearer, outcome=AttemptOutcome.DONE, message=seen.message, asked=level.value))]


def _nearest_that_starts(level: SettingLevel, start: Start, catalog: SettingsCatalog) -> SettingLevel | None:
    """The value nearest to the extreme one with which the server starts; None where there is no number between."""
    works: str | None = None
    fails, found = level.value, None
    for _ in range(_HALVINGS):
        middle = value_between(catalog, level.setting, works, fails)
        if middle is None:
            break
        tried = replace(level, value=middle)
        if start(tried.settings).outcome is AttemptOutcome.DONE:
            works, found = middle, tried
        else:
            fails = middle
    return found
