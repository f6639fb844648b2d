"""What a process is for, by the titles that PostgreSQL 9.6 to 18 give their processes."""

from __future__ import annotations

import pytest

from pgclinic.model.processes import ProcessKind
from pgclinic.samples.process_kinds import kind_of

TITLES = {
    "checkpointer": ProcessKind.CHECKPOINTER,
    "checkpointer process": ProcessKind.CHECKPOINTER,
    "checkpointer checkpoint": ProcessKind.CHECKPOINTER,
    "background writer": ProcessKind.BACKGROUND_WRITER,
    "writer process": ProcessKind.BACKGROUND_WRITER,
    "walwriter": ProcessKind.WAL_WRITER,
    "wal writer process": ProcessKind.WAL_WRITER,
    "autovacuum launcher": ProcessKind.AUTOVACUUM_LAUNCHER,
    "autovacuum worker shop": ProcessKind.AUTOVACUUM_WORKER,
    "autovacuum worker process   shop": ProcessKind.AUTOVACUUM_WORKER,
    "stats collector": ProcessKind.STATS_COLLECTOR,
    "io worker 11": ProcessKind.IO_WORKER,
    "logger": ProcessKind.LOGGER,
    "archiver last was 000000010000000000000001": ProcessKind.ARCHIVER,
    "startup recovering 000000010000000000000003": ProcessKind.STARTUP,
    "walsummarizer": ProcessKind.WAL_SUMMARIZER,
    "walreceiver streaming 0/3000148": ProcessKind.WAL_RECEIVER,
    "walsender rep 10.0.0.7(43210) streaming 0/3000148": ProcessKind.WAL_SENDER,
    "walsender rep [local] idle": ProcessKind.WAL_SENDER,
    "wal sender process rep [local] idle": ProcessKind.WAL_SENDER,
    "logical replication launcher": ProcessKind.LOGICAL_LAUNCHER,
    "bgworker: logical replication launcher": ProcessKind.LOGICAL_LAUNCHER,
    "logical replication apply worker for subscription 16394": ProcessKind.LOGICAL_WORKER,
    "slotsync worker": ProcessKind.SLOT_SYNC,
    "parallel worker for PID 4711": ProcessKind.PARALLEL,
    "app shop [local] idle": ProcessKind.CLIENT,
    "app shop 127.0.0.1(51234) UPDATE waiting": ProcessKind.CLIENT,
    "app shop ::1(51234) idle in transaction": ProcessKind.CLIENT,
    "writer shop [local] SELECT": ProcessKind.CLIENT,
    "startup shop 10.1.2.3(5) idle": ProcessKind.CLIENT,
    "app shop [local]": ProcessKind.CLIENT,
    "pg_cron launcher": ProcessKind.BACKGROUND_WORKER,
    "loggerhead": ProcessKind.BACKGROUND_WORKER,
}


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("cluster", ["", "main: ", "my cluster 14: "])
def test_a_title_tells_the_kind_also_behind_the_name_of_a_cluster(cluster: str, title: str) -> None:
    assert kind_of(f"postgres: {cluster}{title}") is TITLES[title]


@pytest.mark.parametrize(
    "title", ["", "/usr/lib/postgresql/18/bin/postgres -D /data", "postgres -D /data", "sh -c cp %p"]
)
def test_a_process_without_a_title_of_its_own_is_starting(title: str) -> None:
    assert kind_of(title) is ProcessKind.STARTING
