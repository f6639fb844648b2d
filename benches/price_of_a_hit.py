#!/usr/bin/env python3
"""What one buffer hit costs as the dead versions of a small table grow beyond the processor's caches.

Under a held horizon, versions are made by ctid, which looks nothing up, until there are as many as asked for. Then
clients look rows up by key, with no write beside them: so the price of a hit is told apart from whatever else grows.
The index is not unique: whoever inserts into a unique one looks at all versions of the key that are in it already.
"""

from __future__ import annotations

import argparse

from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadSpec, Protocol, Script, Target
from pgclinic.observe.processes import cpu_seconds
from pgclinic.observe.statistics_lag import await_statistics
from pgclinic.pg.session import Access, Session

FILL = """
create table global_counters (id int, cnt bigint);
insert into global_counters select id, 1000000 from generate_series(1, 100) as id;
create index on global_counters (id);
vacuum (analyze) global_counters
"""
GROW = """
do $$
declare places tid[] := array(select ctid from global_counters);
begin
    for pass in 1..{passes} loop
        with moved as (
            update global_counters set cnt = cnt + 1 where ctid = any(places) returning ctid
        )
        select array_agg(ctid) into places from moved;
        commit;
    end loop;
end $$
"""
LOOK_UP = "\\set id random(1, 100)\nselect cnt from global_counters where id = :id;\n"
HITS = "select blks_hit, xact_commit from pg_stat_database where datname = current_database()"
SETTINGS = {
    "shared_buffers": "512MB",
    "autovacuum": "off",
    "synchronous_commit": "off",
    "max_wal_size": "8GB",
    # A table of a page tempts the planner to read all of it, now and when it has grown.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}


def measured(access: Access, pid: int, options: argparse.Namespace) -> tuple[float, float, float]:
    """Look-ups a second, hits each, and the server's CPU for one of them in microseconds."""
    server = access.server
    with Session(access, statement_timeout_ms=30_000, application_name="bench", users_search_path=True) as session:
        before_hits = int(session.row(HITS)[0])
    before_s = cpu_seconds(pid)
    load = run_load(
        LoadSpec(
            target=Target(host=server.host, port=server.port, user=server.user, database=server.database),
            scripts=(Script(name="look-up", text=LOOK_UP),),
            clients=options.clients,
            protocol=Protocol.PREPARED,
            measure_s=options.seconds,
        )
    )
    used_s = cpu_seconds(pid) - before_s
    await_statistics(access, "pgclinic-load")
    with Session(access, statement_timeout_ms=30_000, application_name="bench", users_search_path=True) as session:
        hits = int(session.row(HITS)[0]) - before_hits
    return load.tps, hits / load.transactions, used_s / load.transactions * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=2, help="how often each size is measured")
    parser.add_argument("--versions", type=int, nargs="*", default=[25, 50, 100, 200, 400, 700, 1000, 1600, 2500])
    options = parser.parse_args()
    binaries = find_source("18").ensure()
    with start_server(binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        pid = running.server.pid
        assert pid is not None
        with Session(access, statement_timeout_ms=0, application_name="bench", users_search_path=True) as session:
            for statement in FILL.split(";"):
                session.execute(statement)
            with Session(access, statement_timeout_ms=0, application_name="holder", users_search_path=True) as holder:
                holder.execute("begin")
                holder.execute("select pg_current_xact_id()")
                print(f"{'versions':>10}{'table MB':>10}{'hits':>8}{'look-ups/s':>12}{'CPU us':>9}{'us a hit':>10}")
                made = 0
                for thousands in options.versions:
                    session.execute(GROW.format(passes=(thousands * 1000 - made) // 100))
                    made = thousands * 1000
                    (size,) = session.row("select pg_relation_size('global_counters') / 1048576.0")
                    for _ in range(options.rounds):
                        tps, hits, cpu_us = measured(access, pid, options)
                        row = f"{made:>10,}{float(size):>10.1f}{hits:>8.0f}{tps:>12,.0f}{cpu_us:>9.0f}"
                        print(f"{row}{cpu_us / hits:>10.3f}", flush=True)


if __name__ == "__main__":
    main()
