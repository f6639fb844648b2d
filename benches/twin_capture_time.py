#!/usr/bin/env python3
"""How long ``pgclinic capture twin`` takes on a database of many tables: reading, masking, writing the file.

Each table has ten columns, a primary key, a foreign key, two indexes, a check, 500 rows and was analyzed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from pgclinic.capture.twin import capture_twin
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.pg.session import Access, Session
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.twin.file import write_twin
from pgclinic.twin.mask import mask_twin

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",
    "fsync": "off",
    "max_locks_per_transaction": "1024",
}
TABLE = """
create table t{n} (
    id int primary key, parent int references t{above}, name text not null, email text, kind varchar(10),
    amount numeric,
    made_at timestamptz, day date, active boolean, extra jsonb, check (amount >= 0)
);
create index on t{n} (parent, made_at);
create index on t{n} (lower(name)) where active;
insert into t{n} select i, case when i > 1 then i / 2 end, md5(i::text), md5('e' || i) || '@example.com', 'k' || i % 9,
    i * 1.5, now() + i * interval '1 hour', date '2020-01-01' + i, i % 3 = 0, jsonb_build_object('a', i)
from generate_series(1, 500) as i;
"""


def fill(access: Access, tables: int) -> None:
    with Session(access, statement_timeout_ms=0, application_name="fill", users_search_path=True) as session:
        session.execute("create extension pg_stat_statements")
        for number in range(tables):
            session.execute(TABLE.format(n=number, above=number // 2))
        session.execute("vacuum analyze")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--versions", default="18", help="such as 13,18")
    options = parser.parse_args()
    for version in options.versions.split(","):
        with start_server(find_source(version).ensure(), settings=SETTINGS) as running:
            access = Access(running.server)
            fill(access, options.tables)
            times: dict[str, list[float]] = {"reading": [], "masking": [], "writing": []}
            for _ in range(options.repeats):
                began_s = time.monotonic()
                twin = capture_twin(access)
                read_s = time.monotonic()
                masked = mask_twin(twin)
                masked_s = time.monotonic()
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "x.twin"
                    write_twin(path, masked, masked_text=masked_text(masked))
                    size = path.stat().st_size
                    times["writing"].append(time.monotonic() - masked_s)
                times["reading"].append(read_s - began_s)
                times["masking"].append(masked_s - read_s)
        figures = ", ".join(f"{what} {statistics.median(found):.2f} s" for what, found in times.items())
        print(f"PostgreSQL {twin.version}: {len(twin.tables):,} tables, {len(twin.objects):,} objects: {figures}")
        print(f"  file {size / 1e6:.1f} MB; median of {options.repeats}")


if __name__ == "__main__":
    main()
