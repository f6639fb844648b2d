"""How near a database is to the end of its transaction IDs, or of its multixact IDs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathology import Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import (
    Applies,
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot_counters import DatabaseCounters
from pgclinic.sql.quoting import identifier, qualified

#: IDs are compared in a circle of 2^32: half of it is past.
_HALF = 1 << 31
#: Forced vacuums begin at 200 million; five times as much, and half of all, shows that they do not get there.
WARNING_AGE = 1_000_000_000
#: The default of vacuum_failsafe_age: VACUUM itself drops its cost limits and the indexes from here on.
CRITICAL_AGE = 1_600_000_000
#: Time to vacuum a table of terabytes, with somebody there who sees to it.
CRITICAL_DAYS = 7.0
_DAY_S = 86_400.0
_TABLES_NAMED = 5
#: More old tables than these are vacuumed with one command.
_TABLES_MAX = 20
_LOCK = "ShareUpdateExclusiveLock on one table at a time: reads and writes go on"
_RISK = "reads and writes all pages that are not frozen yet, as fast as vacuum_cost_delay lets it"


@dataclass(frozen=True)
class IdCounter:
    """One of the two kinds of IDs. ``age`` is the attribute of a database and of a table with its age."""

    name: str
    age: str
    setting: str
    unit: Unit
    #: The server refuses new IDs when so few are left, from 14 on and before.
    stop: int = 3_000_000
    stop_before_14: int = 1_000_000


TRANSACTIONS = IdCounter(
    name="transaction IDs", age="xid_age", setting="autovacuum_freeze_max_age", unit=Unit.TRANSACTIONS
)
MULTIXACTS = IdCounter(
    name="multixact IDs",
    age="multixact_age",
    setting="autovacuum_multixact_freeze_max_age",
    unit=Unit.COUNT,
    stop_before_14=100,
)


def databases_near_the_end(case: Case, counter: IdCounter) -> Iterator[Seen]:
    """Each database whose oldest rows are older than any healthy server lets them become."""
    forced = case.number(counter.setting) or 0.0
    for database in sorted(case.snapshot.counters.databases, key=lambda found: -_age(found, counter)):
        age = _age(database, counter)
        # Somebody who lets rows become older on purpose is warned when forced vacuums do not keep that age.
        if age < min(max(WARNING_AGE, 1.25 * forced), CRITICAL_AGE):
            continue
        stop = counter.stop if case.major >= 14 else counter.stop_before_14
        left = max(_HALF - stop - age, 0)
        rate = ids_per_s(case, counter)
        days = left / rate / _DAY_S if rate else None
        is_critical = age >= CRITICAL_AGE or (days is not None and days < CRITICAL_DAYS)
        is_here = database.name == case.snapshot.server.database
        facts = [
            Fact(name=f"age of the oldest {counter.name}", value=age, unit=counter.unit),
            Fact(name="left until the server refuses writes", value=left, unit=counter.unit),
        ]
        if rate:
            facts.append(Fact(name="used now", value=rate, unit=Unit.PER_S))
        yield Seen(
            subject=database.name,
            severity=Severity.CRITICAL if is_critical else Severity.WARNING,
            confidence=Confidence.CERTAIN,
            evidence=(
                Evidence(kind=SubjectKind.DATABASE, name=database.name, facts=tuple(facts)),
                *(_old_tables_evidence(case, counter, forced) if is_here else ()),
                *_holds_evidence(case, counter, forced),
                setting_evidence(case, counter.setting),
            ),
            cost=_cost(counter, days, left, rate),
            treatments=_treatments(case, counter, database, forced),
        )


def ids_per_s(case: Case, counter: IdCounter) -> float | None:
    """How fast they are used, by the age that grew in the observation; None where none was used."""
    before = case.snapshot.counters_before
    if before is None or not case.observed_s:
        return None
    ages = {database.oid: _age(database, counter) for database in before.databases}
    # A VACUUM that ends meanwhile makes the age of one database smaller.
    grown = [
        _age(database, counter) - ages[database.oid]
        for database in case.snapshot.counters.databases
        if database.oid in ages
    ]
    most = max(grown, default=0)
    return most / case.observed_s if most > 0 else None


def table_age(table: Table, counter: IdCounter) -> int:
    """Of its oldest row, those of its TOAST table among them."""
    own = int(getattr(table.state, counter.age) or 0)
    return max(own, table.state.toast_xid_age or 0) if counter is TRANSACTIONS else own


def _age(database: DatabaseCounters, counter: IdCounter) -> int:
    return int(getattr(database, counter.age))


def _old_tables(case: Case, counter: IdCounter, forced: float) -> list[Table]:
    old = [
        table for table in case.all_tables.values() if table.state.kind != "p" and table_age(table, counter) > forced
    ]
    return sorted(old, key=lambda one: table_age(one, counter), reverse=True)


def _old_tables_evidence(case: Case, counter: IdCounter, forced: float) -> Iterator[Evidence]:
    for table in _old_tables(case, counter, forced)[:_TABLES_NAMED]:
        facts = [Fact(name="age of its oldest row", value=table_age(table, counter), unit=counter.unit)]
        if table.state.bytes is not None:
            facts.append(Fact(name="size", value=table.state.bytes, unit=Unit.BYTES))
        yield Evidence(kind=SubjectKind.TABLE, name=table.name, facts=tuple(facts))


def _holds_evidence(case: Case, counter: IdCounter, forced: float) -> Iterator[Evidence]:
    """VACUUM freezes nothing that is newer than the horizon: what holds it at that age keeps the age."""
    if counter is not TRANSACTIONS:
        return
    kinds = {"slot": SubjectKind.SLOT, "standby": SubjectKind.STANDBY, "prepared": SubjectKind.PREPARED}
    for hold in case.snapshot.horizon:
        age = max(hold.xmin_age or 0, hold.catalog_xmin_age or 0)
        if age > forced:
            yield Evidence(
                kind=kinds.get(hold.kind, SubjectKind.SESSION),
                name=hold.holder,
                pid=hold.pid,
                facts=(Fact(name="xmin behind", value=age, unit=Unit.TRANSACTIONS),),
            )


def _cost(counter: IdCounter, days: float | None, left: int, rate: float | None) -> Cost | None:
    if days is None or rate is None:
        return None
    return Cost(
        kind=CostKind.DAYS_LEFT,
        value=days,
        basis=(
            Fact(name="left", value=left, unit=counter.unit),
            Fact(name="used now", value=rate, unit=Unit.PER_S),
        ),
    )


def _treatments(case: Case, counter: IdCounter, one: DatabaseCounters, forced: float) -> tuple[Treatment, ...]:
    if not one.allows_connections:
        name = identifier(one.name)
        return (
            Treatment(
                title=f"connect to {one.name} and run VACUUM (FREEZE); allow connections to it for that long",
                applies=Applies.APPLICATION,
                sql=(f"alter database {name} allow_connections true", f"alter database {name} allow_connections false"),
                lock=_LOCK,
                risk="nobody else must change it meanwhile",
            ),
        )
    old = _old_tables(case, counter, forced) if one.name == case.snapshot.server.database else []
    if 0 < len(old) <= _TABLES_MAX:
        names = [qualified(table.state.schema, table.state.name) for table in old]
        return (
            Treatment(
                title="freeze the oldest tables",
                applies=Applies.STATEMENT,
                sql=tuple(f"vacuum (freeze) {name}" for name in names),
                lock=_LOCK,
                risk=_RISK,
            ),
        )
    return (
        Treatment(
            title=f"freeze all tables of {one.name}, connected to it",
            applies=Applies.STATEMENT,
            sql=("vacuum (freeze)",),
            lock=_LOCK,
            risk=_RISK,
        ),
    )
