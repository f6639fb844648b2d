"""``pgclinic checkup`` of servers that are large: 10,000 tables, 5,000 connections."""

from __future__ import annotations

import msgspec
import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.model.checkup import Checkup
from pgclinic.model.output import CheckupOutput
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.trial.idle import idle_sessions

TABLES = 10_000
CONNECTIONS = 5_000
SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}
#: Each with an index. Without WAL to sync it takes ten seconds.
FILL = """
do $$ begin
  for n in {first}..{last} loop
    execute format('create table t%s (id int primary key)', n);
  end loop;
end $$
"""


def checkup_of(command: Command, access: Access) -> Checkup:
    done = command.run("checkup", dsn_of(access.server), "--observe", "1s", "--json")
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode(done.stdout.encode(), type=CheckupOutput).checkup
    assert not found.gaps
    reasons = {one.reason for one in found.unchecked}
    # A machine with five thousand processes may be read too late.
    assert reasons - {"only on the machine of the server"} == {"needs the server's log (--log FILE)"}
    assert (command.only_run() / "report.html").stat().st_size > 0
    return found


@pytest.mark.drawn(0.3)
def test_ten_thousand_tables_are_examined(command: Command) -> None:
    fast = {"fsync": "off", "autovacuum": "off", "max_wal_size": "4GB", "max_locks_per_transaction": "1024"}
    with start_server(binaries_for("18"), settings=SETTINGS | fast) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=600_000, application_name="fill", users_search_path=True) as session:
            session.execute("create extension pg_stat_statements")
            for first in range(1, TABLES, 1000):
                session.execute(FILL.format(first=first, last=first + 999))
        found = checkup_of(command, access)
        assert found.took_s > 0
        # All were looked at: what the last one lacks is found like what the first one lacks.
        with Session(access, statement_timeout_ms=600_000, application_name="fill", users_search_path=True) as session:
            session.execute(f"create index again on t{TABLES} (id)")
        done = command.run("checkup", dsn_of(running.server), "--observe", "0", "--no-run", "--json")
        seen = msgspec.json.decode(done.stdout.encode(), type=CheckupOutput).checkup.findings
        assert any(one.pathology == "duplicate-indexes" and f"t{TABLES}" in one.subject for one in seen), seen


@pytest.mark.drawn(0.3)
def test_five_thousand_connections_are_examined(command: Command) -> None:
    settings = SETTINGS | {"max_connections": str(CONNECTIONS + 20), "shared_buffers": "64MB"}
    with start_server(binaries_for("18"), settings=settings) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=600_000, application_name="fill", users_search_path=True) as session:
            session.execute("create extension pg_stat_statements")
        with idle_sessions(access, CONNECTIONS):
            found = checkup_of(command, access)
    # Sessions of pgclinic's own trials are nobody's illness, however many there are.
    assert "idle-connections" not in {finding.pathology for finding in found.findings}
