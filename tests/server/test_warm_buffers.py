"""A twin's server begins with what fits of its tables in shared_buffers."""

from __future__ import annotations

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.pg.session import Access, Session
from pgclinic.trial.warm_buffers import warm_buffers

FILL = (
    "create table small (id int primary key, pad text not null)",
    "insert into small select n, repeat('x', 100) from generate_series(1, 5000) n",
    "create table large (id int, pad text not null)",
    "insert into large select n, repeat('x', 500) from generate_series(1, 40000) n",
)
RESIDENT = (
    "select coalesce(sum((b.relfilenode = pg_relation_filenode('small'))::int), 0), "
    "coalesce(sum((b.relfilenode = pg_relation_filenode('small_pkey'))::int), 0), "
    "coalesce(sum((b.relfilenode = pg_relation_filenode('large'))::int), 0) from pg_buffercache b"
)
PAGES = "select pg_relation_size('small') / 8192, pg_relation_size('small_pkey') / 8192"


@pytest.mark.parametrize("major", ["18", "13"])
def test_indexes_and_small_tables_are_read_as_far_as_they_fit(major: str) -> None:
    settings = {"shared_buffers": "4MB", "autovacuum": "off"}
    with start_server(binaries_for(major), settings=settings) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=60_000, application_name="app", users_search_path=True) as session:
            assert warm_buffers(access) == 0, "there is no extension to do it with"
            for statement in (*FILL, "create extension pg_prewarm", "create extension pg_buffercache", "checkpoint"):
                session.execute(statement)
            # The insert has left pages of the large table; what comes now takes their place.
            read = warm_buffers(access)
            pages, of_index = session.row(PAGES)
            small, index, _ = session.row(RESIDENT)
            assert read == pages + of_index
            assert (small, index) == (pages, of_index)
