"""A standby is read like any other server, and its primary shows what it holds."""

from __future__ import annotations

import threading
import time

import pytest

from fixtures.standby import standby_of
from pgclinic.capture.horizon import HorizonRecorder
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.pg.session import Access, Session

SETTINGS = {"shared_preload_libraries": "pg_stat_statements", "max_wal_senders": "5"}


def asking(access: Access) -> Session:
    return Session(access, statement_timeout_ms=30_000, application_name="test", users_search_path=True)


@pytest.mark.drawn(0.2)
def test_a_standby_and_what_it_holds_on_its_primary(binaries: Binaries) -> None:
    with start_server(binaries, settings=SETTINGS) as running, asking(primary := Access(running.server)) as session:
        session.execute("create extension pg_stat_statements")
        session.execute("create table t (id serial primary key); create unlogged table u (id serial)")
        with standby_of(running.server, binaries) as standby:
            taken = take_snapshot(standby)
            assert taken.server.in_recovery
            assert {gap.what for gap in taken.gaps} == set()
            assert [receiver.status for receiver in taken.wal_receiver] == ["streaming"]
            assert {"t", "u"} <= {table.name for table in taken.tables}
            (receiver,) = take_snapshot(primary).standbys
            assert receiver.state == "streaming"
            with asking(standby) as report:
                report.execute("begin isolation level repeatable read; select 1")
                # The standby says so once a second.
                time.sleep(2)
                recorder = HorizonRecorder(primary, for_s=4.0, every_s=0.2)
                thread = threading.Thread(target=recorder.run)
                thread.start()
                while thread.is_alive():
                    session.execute("select txid_current()")
                    time.sleep(0.02)
    found = recorder.recording()
    longest = max(found.holds, key=lambda hold: hold.held_s)
    assert longest.kind == "standby"
    assert longest.held_s > 2
    assert longest.age_transactions > 10
