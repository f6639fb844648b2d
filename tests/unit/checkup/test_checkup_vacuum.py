"""What detectors of vacuum, wraparound and sequences read from texts and figures."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.checkups import SNAPSHOT
from pgclinic.checkup.autovacuum_trigger import is_switched_off
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.vacuum.assigned_columns import assigned_columns
from pgclinic.checkup.pathologies.wraparound.sequence_room import Room, rooms
from pgclinic.checkup.pathologies.wraparound.wraparound import (
    MULTIXACTS,
    TRANSACTIONS,
    IdCounter,
    databases_near_the_end,
)
from pgclinic.model.finding import Severity
from pgclinic.model.snapshot import SequenceState, SettingState
from pgclinic.model.snapshot_counters import Counters, DatabaseCounters


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("update orders set v = v + $1 where id = $2", {"v"}),
        ("UPDATE orders SET a=$1, B = $2 RETURNING c", {"a", "b"}),
        ('update orders set "Total A" = $1, v = (select max(w) from other where x = $2)', {"Total A", "v"}),
        ("update orders o set (a, b) = ($1, $2), c = $3 from other where other.d = o.d", {"a", "b", "c"}),
        ("update orders set (a, b) = row ($1, $2)", {"a", "b"}),
        ("insert into orders (id, v) values ($1, $2) on conflict (id) do update set v = excluded.v", {"v"}),
        (
            "merge into orders o using new n on o.id = n.id when matched then update set v = n.v "
            "when not matched then insert values (n.id, n.v)",
            {"v"},
        ),
        ("select v from orders where v = $1", set()),
        ("delete from orders where id = $1", set()),
    ],
)
def test_columns_that_a_statement_sets(text: str, columns: set[str]) -> None:
    assert assigned_columns(text) == columns


@pytest.mark.parametrize(
    ("value", "off"), [("off", True), ("FALSE", True), ("0", True), ("true", False), (None, False)]
)
def test_a_storage_parameter_that_says_no(value: str | None, off: bool) -> None:
    assert is_switched_off(value) is off


def made(record: Any, /, **known: object) -> Any:
    """A record with zeros in all fields that are not named."""
    return record(**{**dict.fromkeys(record.__struct_fields__, 0), **known})


def databases(at_s: float, **ages: int) -> Counters:
    return Counters(at_epoch_s=at_s, databases=(made(DatabaseCounters, **ages, oid=1, name="app"),))


def ids(name: str) -> SettingState:
    setting = made(SettingState, name=name, value="200000000", unit=None, file=None, line=None, default_value=None)
    assert isinstance(setting, SettingState)
    return setting


@pytest.mark.parametrize(
    ("counter", "seconds_left", "severity"),
    [
        # 1.4 billion of the 2,144,483,648 are used, 1,000 a second: 8.6 days.
        (TRANSACTIONS, 744_483_648 / 1_000, Severity.WARNING),
        # The same of 1.7 billion.
        (MULTIXACTS, 444_483_648 / 1_000, Severity.CRITICAL),
    ],
)
def test_ids_that_are_used_now_give_the_days_that_are_left(
    counter: IdCounter, seconds_left: float, severity: Severity
) -> None:
    ages = {"xid_age": 1_400_000_000, "multixact_age": 1_700_000_000}
    before = {name: age - 5_000 for name, age in ages.items()}
    server = replace(SNAPSHOT.server, version_num=180000, database="other")
    snapshot = replace(
        SNAPSHOT,
        server=server,
        settings=(ids(counter.setting),),
        counters=databases(105.0, **ages),
        counters_before=databases(100.0, **before),
    )
    (seen,) = databases_near_the_end(Case(snapshot), counter)
    assert seen.cost is not None
    assert seen.cost.value == pytest.approx(seconds_left / 86_400)
    assert seen.severity is severity


@pytest.mark.parametrize(
    ("last_value", "rows_a_day", "severity"),
    [
        (1_700_000_000, None, Severity.WARNING),
        # 447,483,647 values are left for 30 days at 15 million a day, for 10 at 45 million.
        (1_700_000_000, 14_000_000.0, Severity.WARNING),
        (1_700_000_000, 45_000_000.0, Severity.CRITICAL),
        (2_100_000_000, None, Severity.CRITICAL),
    ],
)
def test_a_key_is_critical_by_the_days_that_are_left(
    last_value: int, rows_a_day: float | None, severity: Severity
) -> None:
    left = float((1 << 31) - 1 - last_value)
    room = Room(made(SequenceState, last_value=last_value), (1 << 31) - 1, last_value / (1 << 31), left, rows_a_day)
    assert room.severity is severity
    assert (room.days is None) is (rows_a_day is None)


@pytest.mark.parametrize(
    ("increment", "last_value", "used", "left"),
    [(1, 750, 0.75, 250.0), (-1, 251, 0.75, 250.0), (5, 750, 0.75, 50.0), (1, 1000, 1.0, 0.0)],
)
def test_room_of_sequences_that_count_up_and_down(increment: int, last_value: int, used: float, left: float) -> None:
    sequence = made(
        SequenceState,
        schema="public",
        name="tickets",
        increment=increment,
        value_min=1,
        value_max=1000,
        last_value=last_value,
        table_oid=None,
        column_type=None,
    )
    (room,) = rooms(Case(replace(SNAPSHOT, sequences=(sequence,))))
    assert room.used == pytest.approx(used, abs=0.002)
    assert room.left == left
