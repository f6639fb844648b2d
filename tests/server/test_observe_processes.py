"""The processes of real servers by what they are for, and what they use."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fixtures.command import wait_for
from fixtures.lab_home import binaries_for
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.model.processes import ProcessKind, ProcessUse
from pgclinic.observe.local_server import local_postmaster
from pgclinic.observe.process_table import ProcessTable, processes_now
from pgclinic.observe.processes import cpu_seconds
from pgclinic.pg.connect import connect
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Session

pytestmark = pytest.mark.usefixtures("fresh_home")


def postmaster(running: RunningServer) -> int:
    assert running.server.pid is not None
    return running.server.pid


def test_the_kinds_are_what_the_server_says(every_binaries: Binaries) -> None:
    settings = {"logging_collector": "on", "cluster_name": "the clinic", "autovacuum_naptime": "1s"}
    with (
        start_server(every_binaries, settings=settings) as running,
        connect(running.server, users_search_path=True) as patient,
    ):
        major = running.server.major
        rows = patient.execute("select pid, backend_type from pg_stat_activity").fetchall()
        said = dict(rows)
        seen = {row.pid: row.kind for row in processes_now(postmaster(running))}
        for pid, kind in said.items():
            # A worker that has ended meanwhile is nobody's fault.
            assert seen.get(pid, ProcessKind(kind)) is ProcessKind(kind)
        kinds = set(seen.values())
        assert {
            ProcessKind.POSTMASTER,
            ProcessKind.CLIENT,
            ProcessKind.CHECKPOINTER,
            ProcessKind.BACKGROUND_WRITER,
            ProcessKind.WAL_WRITER,
            ProcessKind.AUTOVACUUM_LAUNCHER,
            ProcessKind.LOGICAL_LAUNCHER,
            ProcessKind.LOGGER,
        } <= kinds
        assert (ProcessKind.IO_WORKER in kinds) == (major >= 18)
        assert (ProcessKind.STATS_COLLECTOR in kinds) == (major < 15)
        assert ProcessKind.BACKGROUND_WORKER not in kinds
        assert seen[patient.info.backend_pid] is ProcessKind.CLIENT


SCANS = 20


def test_a_scan_that_does_not_fit_into_shared_buffers_reads_by_system_calls(binaries: Binaries) -> None:
    settings = {"shared_buffers": "1MB", "io_method": "sync", "max_parallel_workers_per_gather": "0"}
    with (
        start_server(binaries, settings=settings) as running,
        connect(running.server, users_search_path=True) as patient,
    ):
        patient.execute("create table big as select g, repeat('x', 500) from generate_series(1, 40000) g")
        patient.execute("select count(*) from big")
        table = ProcessTable(postmaster(running))
        before = table.sample().of(ProcessKind.CLIENT)
        # Often enough for CPU that the kernel counts in ticks of some milliseconds.
        for _ in range(SCANS):
            patient.execute("select count(*) from big")
        after = table.sample().of(ProcessKind.CLIENT)
        assert before is not None and after is not None and after.io_known
        # 22 MB, at most 128 kB a call.
        assert after.use.read_chars - before.use.read_chars > SCANS * 18_000_000
        assert after.use.read_calls - before.use.read_calls > SCANS * 150
        assert after.use.cpu_s > before.use.cpu_s


def test_workers_that_come_and_go_are_told_apart(binaries: Binaries) -> None:
    settings = {
        "autovacuum_naptime": "1s",
        "min_parallel_table_scan_size": "0",
        "parallel_setup_cost": "0",
        "parallel_tuple_cost": "0",
        "max_parallel_workers_per_gather": "2",
    }
    with (
        start_server(binaries, settings=settings) as running,
        connect(running.server, users_search_path=True) as patient,
    ):
        table = ProcessTable(postmaster(running))
        patient.execute("create table t as select g from generate_series(1, 300000) g")
        wait_for(lambda: table.sample().of(ProcessKind.AUTOVACUUM_WORKER))

        slow = "select count(*) from t a join t b on a.g < b.g where b.g < 200"
        work = threading.Thread(target=lambda: patient.execute(slow))
        work.start()
        try:
            row = wait_for(lambda: table.sample().of(ProcessKind.PARALLEL))
        finally:
            work.join()
        assert row.seen >= 1


def test_the_sum_over_all_kinds_is_the_cpu_of_the_server(binaries: Binaries) -> None:
    with start_server(binaries, settings={}) as running:
        table = ProcessTable(postmaster(running))
        samples = [table.sample()]
        for _ in range(8):
            with connect(running.server, users_search_path=True) as patient:
                # Enough for several ticks of the kernel's clock on any machine.
                patient.execute("select count(*) from generate_series(1, 1000000)")
                samples.append(table.sample())
        wait_for(lambda: (table.sample().of(ProcessKind.CLIENT) or samples[0]) and _alive(table) == 0)
        last = table.sample()
        client = last.of(ProcessKind.CLIENT)
        assert client is not None
        assert client.seen >= 8
        alive = samples[-1].of(ProcessKind.CLIENT)
        assert alive is not None
        assert client.use.cpu_s >= alive.use.cpu_s > 0, "sessions that have ended still count"
        whole = sum(row.use.cpu_s for row in last.kinds)
        assert whole == pytest.approx(cpu_seconds(postmaster(running)), abs=0.1)
        for row in samples[0].kinds:
            later = last.of(row.kind)
            assert later is not None
            assert all(getattr(later.use, name) >= getattr(row.use, name) for name in ProcessUse.__struct_fields__)


def _alive(table: ProcessTable) -> int:
    row = table.sample().of(ProcessKind.CLIENT)
    return 0 if row is None else row.alive


def test_a_server_is_local_when_its_own_backend_is_found_here() -> None:
    with start_server(binaries_for("18"), settings={}) as running:
        attached = attach(dsn_of(running.server))
        with Session(attached, statement_timeout_ms=5000, application_name="test", users_search_path=True) as session:
            assert local_postmaster(attached.server, session) == running.server.pid
        assert Path(f"/proc/{running.server.pid}").exists()
