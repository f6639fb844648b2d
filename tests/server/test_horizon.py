"""The horizon of real servers, recorded and replayed."""

from __future__ import annotations

import signal
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from fixtures.command import PATIENCE, Command
from fixtures.lab_home import cli
from pgclinic.capture.horizon import HorizonRecorder
from pgclinic.capture.twin import capture_twin
from pgclinic.errors import RunFailedError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.horizon import HorizonRecording, ReplayedHold
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.store.document import read_document
from pgclinic.trial.condition import conditions

SETTINGS = {"max_prepared_transactions": "2", "wal_level": "logical"}
KINDS = {
    Holder.SESSION: "session",
    Holder.QUERY: "query",
    Holder.PREPARED_TRANSACTION: "prepared",
    Holder.PHYSICAL_SLOT: "slot",
    Holder.LOGICAL_SLOT: "slot",
}
AGE = "select coalesce(max(age(backend_xid)), -1) from pg_stat_activity where application_name = 'pgclinic-holder'"


def asking(access: Access) -> Session:
    return Session(access, statement_timeout_ms=30_000, application_name="test", users_search_path=True)


@pytest.mark.parametrize("holder", list(Holder))
def test_a_hold_is_recorded_with_its_kind_and_length(every_binaries: Binaries, holder: Holder) -> None:
    with start_server(every_binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        recorder = HorizonRecorder(access, for_s=6.0, every_s=0.2)
        thread = threading.Thread(target=recorder.run)
        thread.start()
        time.sleep(1.0)
        asked_s = time.monotonic()
        with asking(access) as session, conditions(access, Condition(horizon_held_by=holder)):
            began_s = time.monotonic()
            while time.monotonic() < began_s + 2.5:
                session.execute("select txid_current()")
        ended_s = time.monotonic()
        thread.join(timeout=30)
    found = recorder.recording()
    longest = max(found.holds, key=lambda hold: hold.held_s)
    assert longest.kind == KINDS[holder]
    # It is seen at most three looks late, and let go for as long as the server takes to end it.
    assert 1.5 < longest.held_s <= ended_s - asked_s + 1.0
    assert longest.began_s > 0.5
    assert longest.age_transactions > 10
    assert longest.catalog_only is (holder is Holder.LOGICAL_SLOT)
    assert not longest.lasts
    assert found.transactions >= longest.age_transactions
    oldest = max(point.age_transactions for point in found.series)
    # A session that waits for the CPU holds the horizon for some transactions more.
    held = longest.age_transactions
    assert oldest < max(10, held / 2) if holder is Holder.LOGICAL_SLOT else oldest == held


@pytest.mark.drawn(0.2)
def test_what_holds_nothing_here_is_not_recorded(binaries: Binaries) -> None:
    """A session of another database, and a VACUUM."""
    with start_server(binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        with asking(access) as session:
            session.execute("create database other")
            session.execute("create table large as select generate_series(1, 300000) as id")
            session.execute("set vacuum_cost_delay = 20; set vacuum_cost_limit = 4")
            other = Session(
                access, statement_timeout_ms=0, application_name="other", database="other", users_search_path=True
            )
            with other:
                other.execute("begin isolation level repeatable read; select 1")
                vacuum = threading.Thread(target=lambda: session.execute("vacuum large"))
                vacuum.start()
                recorder = HorizonRecorder(access, for_s=2.0, every_s=0.2)
                recorder.run()
                was_running = vacuum.is_alive()
            vacuum.join(timeout=60)
    assert was_running
    assert recorder.recording().holds == ()
    assert recorder.recording().samples >= 5


def test_a_role_without_rights_records_the_age(binaries: Binaries) -> None:
    with start_server(binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        with asking(access) as session:
            session.execute("create role poor login")
        poor = dsn_of(running.server).replace("user=postgres", "user=poor")
        assert "user=poor" in poor
        with conditions(access, Condition(horizon_held_by=Holder.SESSION)):
            shown = cli("capture", "horizon", poor, "--for", "2s", "--every", "0.2s", "--json")
    assert shown.returncode == 0, shown.stderr
    assert '"kind":"session"' in shown.stdout


@pytest.mark.drawn(0.2)
def test_the_command_keeps_what_it_has_when_it_is_interrupted(
    binaries: Binaries, command: Command, tmp_path: Path
) -> None:
    file, page = tmp_path / "day.json", tmp_path / "day.html"
    with (
        start_server(binaries, settings=SETTINGS) as running,
        conditions(access := Access(running.server), Condition(horizon_held_by=Holder.SESSION)),
    ):
        process = command.start(
            *("capture", "horizon", dsn_of(access.server), "--for", "1h", "--every", "0.2s"),
            *("-o", str(file), "--html", str(page)),
        )
        assert process.stderr is not None
        assert "idle in transaction" in process.stderr.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20 * PATIENCE)
    assert process.returncode == 130, error
    assert "idle in transaction" in out
    recording = read_document(file, HorizonRecording, "a recording")
    (hold,) = recording.holds
    assert hold.lasts
    assert hold.began_s <= recording.series[0].at_s
    assert "The longest holds" in page.read_text(encoding="utf-8")


def ages(access: Access, holds: tuple[ReplayedHold, ...], seconds: float) -> list[int]:
    """Every tenth of a second, how old the oldest replayed hold is; -1 where there is none."""
    seen = []
    with asking(access) as session, conditions(access, Condition(holds=holds)):
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            session.execute("select txid_current()")
            seen.append(session.row(AGE)[0])
            time.sleep(0.05)
    return seen


def test_a_recording_is_held_again(every_binaries: Binaries) -> None:
    """Held, free, then two that overlap: the horizon falls to the second one when the first one ends."""
    holds = tuple(ReplayedHold(at_s=a, until_s=b) for a, b in ((0.0, 1.0), (2.0, 4.0), (3.0, 5.0)))
    with start_server(every_binaries, settings=SETTINGS) as running:
        seen = ages(access := Access(running.server), holds, 6.0)
        with asking(access) as session:
            assert session.row(AGE) == (-1,)
    # The first look may come before the first hold.
    spans = "".join("h" if age >= 0 else "-" for age in seen).lstrip("-")
    assert [span[0] for span in spans.replace("h-", "h -").replace("-h", "- h").split()] == ["h", "-", "h", "-"]
    falls = [after for before, after in pairwise(seen) if 0 <= after < before]
    assert len(falls) == 1


def test_what_comes_after_the_end_is_no_error_and_a_lost_hold_is(binaries: Binaries) -> None:
    later = (ReplayedHold(at_s=0.0, until_s=100.0), ReplayedHold(at_s=50.0, until_s=200.0))
    with start_server(binaries, settings=SETTINGS) as running, asking(access := Access(running.server)) as session:
        with conditions(access, Condition(holds=later)):
            time.sleep(0.3)
        with (
            pytest.raises(RunFailedError, match="replays the horizon"),
            conditions(access, Condition(holds=(ReplayedHold(at_s=0.0, until_s=1.0),))),
        ):
            time.sleep(0.3)
            session.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgclinic-holder'"
            )
            time.sleep(1.2)


def test_a_twin_has_the_holds_that_were_there_without_names_made_of_data(binaries: Binaries) -> None:
    with (
        start_server(binaries, settings=SETTINGS) as running,
        conditions(access := Access(running.server), Condition(horizon_held_by=Holder.PREPARED_TRANSACTION)),
    ):
        time.sleep(1.2)
        (hold,) = capture_twin(access).holds
    assert (hold.kind, hold.holder, hold.lasts) == ("prepared", "", True)
    assert hold.held_s > 1


def test_a_lost_connection_is_a_gap_and_not_the_end(binaries: Binaries) -> None:
    with (
        start_server(binaries, settings=SETTINGS) as running,
        conditions(access := Access(running.server), Condition(horizon_held_by=Holder.SESSION)),
        asking(access) as session,
    ):
        recorder = HorizonRecorder(access, for_s=9.0, every_s=0.2)
        thread = threading.Thread(target=recorder.run)
        thread.start()
        time.sleep(1.5)
        session.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgclinic-capture'"
        )
        thread.join(timeout=30)
    found = recorder.recording()
    assert found.missed >= 5
    assert found.samples >= 5
    (hold,) = (hold for hold in found.holds if hold.held_s > 5)
    assert hold.lasts
