"""pg_stat_statements forgets statements because there are more than it has room for."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)

#: One eviction drops a twentieth of the statements: it may be from a day with many migrations.
EVICTIONS_MIN = 2
#: One a minute: no statement with few calls is remembered for longer than twenty minutes.
COSTLY_PER_S = 1 / 60
_MAX = "pg_stat_statements.max"
_STATEMENTS_NAMED = 3


def _detect(case: Case) -> Iterator[Seen]:
    (info,) = case.snapshot.counters.statements_info or (None,)
    if info is None or _MAX not in case.settings:
        return
    evictions, seconds = info.evictions, case.since_s(info.reset_epoch_s)
    before = case.snapshot.counters_before
    if before is not None and before.statements_info and case.observed_s:
        grown = max(evictions - before.statements_info[0].evictions, 0)
        rate = max(grown / case.observed_s, 0.0)
    else:
        rate = evictions / seconds
    if evictions < EVICTIONS_MIN:
        return
    room = int(case.number(_MAX) or 0)
    once = [statement for statement in case.statements if statement.counters.calls == 1]
    yield Seen(
        subject=_MAX,
        severity=Severity.WARNING if rate >= COSTLY_PER_S else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                _MAX,
                Fact(name="evictions", value=evictions, unit=Unit.COUNT),
                Fact(name="evictions a second", value=rate, unit=Unit.PER_S),
                Fact(name="statements with a single call", value=len(once), unit=Unit.COUNT),
            ),
            *(
                Evidence(kind=SubjectKind.STATEMENT, name=one.text, query_id=one.query_id)
                for one in once[:_STATEMENTS_NAMED]
            ),
        ),
        claim=TimeClaim(waits=("LWLock:pg_stat_statements",)),
        treatments=(
            change_settings(
                case,
                {_MAX: str(max(10 * room, 10_000))},
                title="make room for ten times as many statements",
                risk="a restart; about 1 kB of shared memory for each, and texts in a file",
            ),
            Treatment(
                title="let texts differ less: parameters in place of constants, arrays (= ANY ($1)) in place of "
                "lists, one name for SAVEPOINT and for cursors; pg_stat_statements.track_utility = off",
                applies=Applies.APPLICATION,
                risk="none",
                prevents=True,
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="statement-statistics-evicted",
    title="pg_stat_statements forgets statements",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="When there are more statements than pg_stat_statements.max, the twentieth with the fewest calls is "
    "dropped, under a lock that every statement waits for. What runs seldom and takes long is dropped first.",
    threshold="Two evictions since statistics were reset; a warning from one a minute on, where a statement with few "
    "calls is forgotten within twenty minutes.",
    references=(
        "https://www.postgresql.org/docs/current/pgstatstatements.html#PGSTATSTATEMENTS-PG-STAT-STATEMENTS-INFO",
    ),
    detect=_detect,
    since=14,
    needs=("counters.statements_info", "counters.statements", "settings"),
    no_proof="it is about what can be seen; how much it costs depends on texts that a twin does not have",
)
