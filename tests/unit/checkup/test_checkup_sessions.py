"""Detectors of the horizon on snapshots that were changed: ages of days, and standbys that report now and then."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fixtures.changed_snapshot import client, found, healthy_snapshot, with_major, with_sessions
from pgclinic.model.finding import Finding, Severity
from pgclinic.model.snapshot import HorizonHolding, NotifyQueue, RoleSetting, SlotState, Snapshot, StandbyState


def holding(kind: str, **changes: Any) -> HorizonHolding:
    made = HorizonHolding(
        kind=kind,
        key="7",
        holder="app-7",
        pid=7,
        user="app",
        database="postgres",
        state=None,
        xmin_age=10_000,
        catalog_xmin_age=None,
        held_s=60.0,
        is_here=True,
        query=None,
    )
    return replace(made, **changes)


def slot(**changes: Any) -> SlotState:
    made = SlotState(
        name="away",
        kind="physical",
        plugin=None,
        database=None,
        active=False,
        active_pid=None,
        temporary=False,
        wal_status="reserved",
        xmin_age=10_000,
        catalog_xmin_age=None,
        wal_kept_bytes=0,
        wal_left_bytes=None,
        conflicting=None,
        inactive_s=None,
        invalidation_reason=None,
    )
    return replace(made, **changes)


def with_dead(snapshot: Snapshot, name: str = "public.orders", dead: int = 5_000) -> Snapshot:
    """The same where a table has so many dead rows."""
    oid = next(table.oid for table in snapshot.tables if table.qualified == name)
    tables = tuple(replace(table, dead=dead) if table.oid == oid else table for table in snapshot.counters.tables)
    return replace(snapshot, counters=replace(snapshot.counters, tables=tables))


def only(pathology: str, snapshot: Snapshot) -> Finding:
    (finding,) = found(pathology, snapshot)
    return finding


def test_a_hold_is_as_bad_as_what_it_hurts() -> None:
    name = "horizon-held-by-query"
    near = with_sessions(client(7), horizon=(holding("query"),))
    far = with_sessions(client(7), horizon=(holding("query", xmin_age=2_000_000),))
    assert only(name, near).severity is Severity.NOTICE
    assert only(name, with_dead(near)).severity is Severity.WARNING
    assert only(name, far).severity is Severity.WARNING
    assert only(name, with_dead(far)).severity is Severity.CRITICAL
    assert only(name, with_dead(near)).tables == ("public.orders",)


def test_rows_of_another_database_are_not_kept_here() -> None:
    snapshot = with_sessions(client(7), horizon=(holding("query", is_here=False),))
    assert found("horizon-held-by-query", with_dead(snapshot)) == ()


def test_a_parallel_worker_is_not_named_beside_its_leader() -> None:
    worker = client(8, leader_pid=7, backend_type="parallel worker")
    holds = (holding("query"), holding("query", pid=8, key="8"))
    assert only("horizon-held-by-query", with_sessions(client(7), worker, horizon=holds)).evidence[0].pid == 7


def test_the_limit_of_a_role_goes_back_to_what_it_was() -> None:
    settings = (RoleSetting(database=None, role="app", name="statement_timeout", value="1h"),)
    snapshot = with_sessions(client(7), horizon=(holding("query"),))
    _, limit = only("horizon-held-by-query", snapshot).treatments
    assert limit.undo == ("alter role app reset statement_timeout",)
    _, limit = only("horizon-held-by-query", replace(snapshot, role_settings=settings)).treatments
    assert limit.undo == ("alter role app set statement_timeout to '1h'",)


def standby(age: int, observed_s: float = 0.0, commits: int = 0) -> Snapshot:
    snapshot = healthy_snapshot()
    state = StandbyState(
        pid=7,
        user="postgres",
        application="reports",
        client=None,
        state="streaming",
        sync_state="async",
        xmin_age=age,
        unsent_bytes=0,
        unflushed_bytes=0,
        unreplayed_bytes=0,
        write_lag_s=None,
        flush_lag_s=None,
        replay_lag_s=None,
    )
    changed = replace(snapshot, standbys=(state,), horizon=(holding("standby", xmin_age=age, held_s=None),))
    if not observed_s:
        return changed
    first, *others = snapshot.counters.databases
    earlier = replace(
        snapshot.counters,
        at_epoch_s=snapshot.counters.at_epoch_s - observed_s,
        databases=(replace(first, commits=(first.commits or 0) - commits), *others),
    )
    return replace(changed, counters_before=earlier)


def test_a_standby_may_be_behind_by_three_reports() -> None:
    name = "horizon-held-by-standby"
    assert only(name, standby(10_000)).subject == "standby reports"
    assert found(name, standby(10_000, observed_s=1.0, commits=1_000)) == ()
    assert only(name, standby(40_000, observed_s=1.0, commits=1_000)).severity is Severity.NOTICE


def test_the_slot_of_a_standby_that_is_there_is_no_absent_one() -> None:
    horizon = (holding("slot", holder="away", held_s=None),)
    for is_active, expected in ((False, "horizon-held-by-slot"), (True, "horizon-held-by-standby")):
        snapshot = replace(healthy_snapshot(), slots=(slot(active=is_active),), horizon=horizon)
        names = ("horizon-held-by-slot", "horizon-held-by-standby")
        assert [name for name in names if found(name, snapshot)] == [expected]


def test_before_18_no_setting_gives_up_a_slot() -> None:
    horizon = (holding("slot", holder="away", held_s=None),)
    snapshot = replace(healthy_snapshot(), slots=(slot(),), horizon=horizon)
    assert len(only("horizon-held-by-slot", snapshot).treatments) == 2
    assert len(only("horizon-held-by-slot", with_major(snapshot, 17)).treatments) == 1


def test_a_subscriber_that_reads_may_be_behind_by_a_million() -> None:
    name = "catalog-horizon-held-by-slot"
    snapshot = with_dead(healthy_snapshot(), "pg_catalog.pg_attribute", 50_000)
    for age, is_active, expected in ((99, False, 0), (100, False, 1), (999_999, True, 0), (1_000_000, True, 1)):
        one = slot(kind="logical", xmin_age=None, catalog_xmin_age=age, active=is_active)
        assert len(found(name, replace(snapshot, slots=(one,)))) == expected
    # Nothing is kept that would be dead without it.
    one = slot(kind="logical", xmin_age=None, catalog_xmin_age=50_000)
    assert found(name, replace(healthy_snapshot(), slots=(one,))) == ()


def test_half_a_queue_of_notifications_is_critical() -> None:
    def of(share: float) -> Snapshot:
        return with_sessions(client(7), notify_queue=(NotifyQueue(used_share=share),))

    assert found("notify-queue-filling", of(0.09)) == ()
    assert only("notify-queue-filling", of(0.2)).severity is Severity.WARNING
    assert only("notify-queue-filling", of(0.6)).severity is Severity.CRITICAL
