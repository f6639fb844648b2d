"""Every condition on real servers: it is there while it should be, it shows, and nothing of it is left."""

from __future__ import annotations

import threading
import time

import pytest

from fixtures.command import wait_for
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import attach
from pgclinic.model.study import Condition, Holder, Step
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.trial.condition import conditions

SETTINGS = {"max_prepared_transactions": "2", "wal_level": "logical", "max_connections": "80"}


def end_sessions(session: Session, application: str, which: str, count: int) -> None:
    """End so many sessions of an application at most, and return when the server has none of them any more.

    On a busy machine a backend ends long after it was asked to.
    """
    chosen = f"select pid from pg_stat_activity where application_name = '{application}' and ({which}) limit {count}"
    pids = [int(pid) for pid, _ in session.rows(f"select pid, pg_terminate_backend(pid) from ({chosen}) as chosen")]
    assert pids
    left = f"select count(*) from pg_stat_activity where pid = any('{{{','.join(map(str, pids))}}}')"
    wait_for(lambda: session.row(left) == (0,))


def asking(access: Access) -> Session:
    return Session(access, statement_timeout_ms=30_000, application_name="test", users_search_path=True)


def grows_under(access: Access, condition: Condition) -> bool:
    """Whether a small table that is updated and vacuumed again and again keeps growing under the condition."""
    with asking(access) as session:
        session.execute("drop table if exists counters; create table counters (id int primary key, cnt bigint)")
        session.execute("insert into counters select id, 0 from generate_series(1, 400) as id")
        with conditions(access, condition):
            sizes = []
            for _ in range(12):
                session.execute("update counters set cnt = cnt + 1")
                session.execute("vacuum counters")
                (size,) = session.row("select pg_relation_size('counters')")
                sizes.append(size)
        return bool(sizes[-1] > 2 * sizes[2])


@pytest.mark.parametrize("holder", [holder for holder in Holder if holder is not Holder.LOGICAL_SLOT])
def test_a_holder_keeps_dead_rows_alive_and_leaves_nothing(every_binaries: Binaries, holder: Holder) -> None:
    with start_server(every_binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        assert not grows_under(access, Condition())
        assert grows_under(access, Condition(horizon_held_by=holder))
        assert not grows_under(access, Condition())


def test_a_logical_slot_holds_the_catalogs_only(every_binaries: Binaries) -> None:
    condition = Condition(horizon_held_by=Holder.LOGICAL_SLOT)
    with start_server(every_binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        assert not grows_under(access, condition)
        with conditions(access, condition), asking(access) as session:
            (xmin, catalog_xmin) = session.row("select xmin, catalog_xmin from pg_replication_slots")
        assert xmin is None
        assert catalog_xmin is not None


@pytest.mark.parametrize("holder", [Holder.SESSION, Holder.QUERY])
def test_a_holder_that_is_ended_spoils_the_trial(binaries: Binaries, holder: Holder) -> None:
    condition = Condition(horizon_held_by=holder)
    with (
        start_server(binaries, settings=SETTINGS) as running,
        pytest.raises(RunFailedError, match="that held the horizon"),
        conditions(access := Access(running.server), condition),
        asking(access) as session,
    ):
        end_sessions(session, "pgclinic-holder", "state like 'idle in%' or backend_xmin is not null", 9)
        # Its client hears of it still later.
        for thread in threading.enumerate():
            if thread.name == "pgclinic-holder":
                thread.join(30)


def test_idle_sessions_are_there_and_go(binaries: Binaries) -> None:
    count = "select count(*) from pg_stat_activity where application_name = 'pgclinic-idle'"
    with start_server(binaries, settings=SETTINGS) as running, asking(access := Access(running.server)) as session:
        with conditions(access, Condition(idle_sessions=40)):
            assert session.row(count) == (40,)
        with (
            pytest.raises(RunFailedError, match="3 of 10 idle sessions were lost"),
            conditions(access, Condition(idle_sessions=10)),
        ):
            end_sessions(session, "pgclinic-idle", "true", 3)


def test_what_would_outlive_us_is_refused_on_a_server_that_is_not_ours(binaries: Binaries) -> None:
    condition = Condition(horizon_held_by=Holder.PREPARED_TRANSACTION)
    with start_server(binaries, settings=SETTINGS) as running:
        access = attach(dsn_of(running.server))
        with (
            pytest.raises(UsageError, match="never left on an existing server"),
            conditions(access, condition),
        ):
            pytest.fail("it was left there")


def test_checkpoints_are_asked_for_again_and_again(every_binaries: Binaries) -> None:
    with (
        start_server(every_binaries, settings=SETTINGS) as running,
        asking(access := Access(running.server)) as session,
    ):
        before = session.row("select checkpoint_lsn from pg_control_checkpoint()")
        seen = set()
        with conditions(access, Condition(checkpoint_every_s=0.1)):
            for _ in range(40):
                session.execute("create temp table x (id int); drop table x")
                seen.add(session.row("select checkpoint_lsn from pg_control_checkpoint()"))
                time.sleep(0.05)
        assert len(seen - {before}) >= 3


HOLDERS = "select count(*) from pg_stat_activity where application_name = 'pgclinic-holder'"


def vacuumed_size(session: Session) -> int:
    session.execute("update counters set cnt = cnt + 1; update counters set cnt = cnt + 1")
    session.execute("vacuum counters")
    (size,) = session.row("select pg_relation_size('counters')")
    return int(size)


def test_a_holder_lets_go_at_its_moment(binaries: Binaries) -> None:
    """Before, every vacuum leaves more behind; after, the size stays."""
    condition = Condition(horizon_held_by=Holder.SESSION, release_at_s=3.0)
    with start_server(binaries, settings=SETTINGS) as running, asking(access := Access(running.server)) as session:
        session.execute("create table counters (id int primary key, cnt bigint)")
        session.execute("insert into counters select id, 0 from generate_series(1, 400) as id")
        with conditions(access, condition):
            sizes = [vacuumed_size(session)]
            while session.row(HOLDERS) == (1,) and len(sizes) < 8:
                sizes.append(vacuumed_size(session))
            wait_until_free(session)
            free = [vacuumed_size(session) for _ in range(6)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    assert free[-1] == free[1]


def wait_until_free(session: Session) -> None:
    for _ in range(200):
        if session.row(HOLDERS) == (0,):
            return
        time.sleep(0.05)
    pytest.fail("the holder never let go")


def test_a_release_that_never_came_spoils_the_trial(binaries: Binaries) -> None:
    condition = Condition(horizon_held_by=Holder.SESSION, release_at_s=60.0)
    with (
        start_server(binaries, settings=SETTINGS) as running,
        pytest.raises(RunFailedError, match="the trial ended before the release at 60 s"),
        conditions(Access(running.server), condition),
    ):
        pass


def test_time_outs_end_a_holder_that_may_be_ended(binaries: Binaries) -> None:
    """Where the server ends one that it may not end, the condition raises at its end."""
    settings = SETTINGS | {"idle_in_transaction_session_timeout": "100ms"}
    with start_server(binaries, settings=settings) as running, asking(access := Access(running.server)) as session:
        with conditions(access, Condition(horizon_held_by=Holder.SESSION, time_outs=True)):
            wait_until_free(session)
        with conditions(access, Condition(horizon_held_by=Holder.SESSION)):
            time.sleep(0.4)


def test_steps_run_at_their_moments_and_again(binaries: Binaries) -> None:
    steps = (
        Step(at_s=0.2, sql="insert into seen values ('once')"),
        Step(at_s=0.1, sql="insert into seen values ('again')", every_s=0.1),
        Step(at_s=0.15, sql="vacuum seen"),
    )
    with start_server(binaries, settings=SETTINGS) as running, asking(access := Access(running.server)) as session:
        session.execute("create table seen (what text, at timestamptz default clock_timestamp())")
        with conditions(access, Condition(steps=steps)):
            for _ in range(200):
                counts = dict(session.rows("select what, count(*) from seen group by what"))
                if counts.get("again", 0) >= 3 and "once" in counts:
                    break
                time.sleep(0.05)
        assert session.row("select count(*) from seen where what = 'once'") == (1,)
        (first,) = session.row("select what from seen order by at limit 1")
        assert first == "again"


def test_a_step_that_fails_spoils_the_trial(binaries: Binaries) -> None:
    condition = Condition(steps=(Step(at_s=0.0, sql="vacuum nothing_of_that_name"),))
    with (
        start_server(binaries, settings=SETTINGS) as running,
        pytest.raises(RunFailedError, match=r"step at 0 s failed: .*nothing_of_that_name"),
        conditions(Access(running.server), condition),
    ):
        time.sleep(0.5)
