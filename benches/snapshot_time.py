#!/usr/bin/env python3
"""How long ``pgclinic capture snapshot`` takes on a database of many tables, and which of its queries take longest.

Each table has a primary key, ten rows and was analyzed. The whole command is timed too, from its start to its exit.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pgclinic.capture.snapshot import take_snapshot
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.model.snapshot import Snapshot
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",
    "fsync": "off",
    "max_locks_per_transaction": "1024",
}
FILL = """
do $$ begin
  for n in {first}..{last} loop
    execute format('create table t%s (id int primary key, name text, at timestamptz)', n);
    execute format('insert into t%s select i, md5(i::text), now() from generate_series(1, 10) i', n);
  end loop;
end $$
"""


def fill(access: Access, tables: int) -> None:
    with Session(access, statement_timeout_ms=600_000, application_name="fill", users_search_path=True) as session:
        session.execute("create extension pg_stat_statements")
        for first in range(1, tables + 1, 500):
            session.execute(FILL.format(first=first, last=min(first + 499, tables)))
        session.execute("vacuum analyze")


def command_s(access: Access) -> tuple[float, int]:
    """Seconds from the start of the command to its exit, and the bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "snapshot.json"
        words = [sys.executable, "-m", "pgclinic", "capture", "snapshot", dsn_of(access.server), "-o", str(file)]
        began_s = time.monotonic()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began_s, file.stat().st_size


def slowest(taken: Snapshot, many: int) -> str:
    ordered = sorted(taken.query_s.items(), key=lambda one: one[1], reverse=True)[:many]
    return ", ".join(f"{name} {took_s:.2f} s" for name, took_s in ordered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--versions", default="18", help="such as 13,18")
    options = parser.parse_args()
    for version in options.versions.split(","):
        with start_server(find_source(version).ensure(), settings=SETTINGS) as running:
            access = Access(running.server)
            fill(access, options.tables)
            taken = [take_snapshot(access) for _ in range(options.repeats)]
            commands = [command_s(access) for _ in range(options.repeats)]
        found = taken[-1]
        print(f"PostgreSQL {found.server.version}: {len(found.tables):,} tables, {len(found.indexes):,} indexes")
        print(f"  reading   {statistics.median(one.took_s for one in taken):.2f} s (median of {options.repeats})")
        print(
            f"  command   {statistics.median(took_s for took_s, _ in commands):.2f} s, {commands[-1][1] / 1e6:.1f} MB"
        )
        print(f"  slowest   {slowest(found, 6)}")


if __name__ == "__main__":
    main()
