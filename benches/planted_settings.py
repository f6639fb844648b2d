#!/usr/bin/env python3
"""Whether ``pgclinic assay`` names what was planted: one bad setting among 40 harmless ones, or six among 32.

Each kind has the workload that its setting makes slow. The harmless ones have other values than the defaults, and
nothing to do with any of these workloads. What is kept is the answer: carriers, factors, intervals, bystanders.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from pgclinic.model.output import AssayOutput

PGCLINIC = Path(sys.executable).parent / "pgclinic"
HARMLESS = {
    "authentication_timeout": "2min",
    "autovacuum_analyze_scale_factor": "0.2",
    "autovacuum_freeze_max_age": "300000000",
    "autovacuum_multixact_freeze_max_age": "500000000",
    "autovacuum_naptime": "2min",
    "autovacuum_vacuum_cost_delay": "5ms",
    "autovacuum_vacuum_scale_factor": "0.3",
    "autovacuum_work_mem": "96MB",
    "bgwriter_delay": "300ms",
    "bgwriter_lru_maxpages": "150",
    "bgwriter_lru_multiplier": "3",
    "checkpoint_completion_target": "0.8",
    "checkpoint_warning": "1min",
    "client_min_messages": "warning",
    "cursor_tuple_fraction": "0.2",
    "deadlock_timeout": "2s",
    "geqo_effort": "6",
    "geqo_threshold": "14",
    "gin_pending_list_limit": "8MB",
    "log_autovacuum_min_duration": "1h",
    "log_checkpoints": "off",
    "log_lock_waits": "on",
    "log_temp_files": "1GB",
    "logical_decoding_work_mem": "32MB",
    "maintenance_work_mem": "96MB",
    "max_locks_per_transaction": "80",
    "max_parallel_maintenance_workers": "1",
    "max_pred_locks_per_transaction": "80",
    "max_replication_slots": "12",
    "max_wal_senders": "12",
    "max_wal_size": "2GB",
    "min_wal_size": "160MB",
    "tcp_keepalives_idle": "300",
    "temp_buffers": "16MB",
    "track_activity_query_size": "2048",
    "vacuum_buffer_usage_limit": "4MB",
    "vacuum_cost_limit": "300",
    "vacuum_freeze_min_age": "60000000",
    "vacuum_freeze_table_age": "140000000",
    "wal_writer_delay": "300ms",
    "tcp_keepalives_interval": "60",
    "wal_receiver_timeout": "2min",
    "wal_sender_timeout": "2min",
}
#: Those that came later than 13.
SINCE = {"vacuum_buffer_usage_limit": 16}
SHOP = """
create table region (id int primary key, name text not null);
insert into region select n, 'region ' || n from generate_series(1, 50) n;
create table customer (id int primary key, region int not null references region, name text not null);
insert into customer select n, 1 + n % 50, 'customer ' || md5(n::text) from generate_series(1, 10000) n;
create index customer_region on customer (region);
create table orders (id int primary key, customer_id int not null references customer, placed date not null,
  total numeric not null, note text not null);
insert into orders select n, 1 + n * 7919 % 10000, date '2020-01-01' + n % 1000, n % 977, md5(n::text)
  from generate_series(1, 60000) n;
create index orders_customer_id on orders (customer_id);
create index orders_placed on orders (placed);
create table visit (day int not null, id int not null, note text not null) partition by list (day);
do $$ begin for day in 0 .. 199 loop
  execute format('create table visit_%s partition of visit for values in (%s)', day, day);
end loop; end $$;
insert into visit select n % 200, n, md5(n::text) from generate_series(1, 40000) n;
create table entry (id bigint generated always as identity primary key, note text not null);
vacuum analyze;
"""
LOOK_UP = "\\set id random(1, 60000)\nselect total from orders where id = :id;\n"
JOIN = (
    "\\set day random(0, 600)\nselect c.region, count(*), sum(o.total) from orders o "
    "join customer c on c.id = o.customer_id "
    "where o.placed between date '2020-01-01' + :day and date '2020-01-01' + :day + 300 group by c.region;\n"
)
SORT = (
    "\\set day random(0, 900)\nselect count(*) from (select note from orders "
    "where placed >= date '2020-01-01' + :day / 10 order by note offset 0) sorted;\n"
)
HALF_SORT = (
    "\\set day random(0, 500)\nselect count(*) from (select note from orders "
    "where placed between date '2020-01-01' + :day and date '2020-01-01' + :day + 400 order by note offset 0) sorted;\n"
)
NARROW = (
    "\\set id random(1, 50)\nselect count(*), sum(o.total) from orders o join customer c on c.id = o.customer_id "
    "join region r on r.id = c.region where r.name = 'region :id';\n"
)
GROUPED = "select count(*) from (select customer_id, sum(total) from orders group by customer_id offset 0) grouped;\n"
PARTITION = "\\set day random(0, 199)\nselect count(*) from visit where day = :day;\n"
JOIN_ALL = "select c.region, sum(o.total) from orders o join customer c on c.id = o.customer_id group by c.region;\n"
SOME_GROUPS = "select count(*) from (select total, count(*) from orders group by total offset 0) grouped;\n"
FIRST_BY_DATE = "select note from orders order by placed, note limit 10;\n"
LOOK_UPS = "\\startpipeline\n" + 20 * LOOK_UP + "\\endpipeline\n"
WIDE = (
    "\\set first random(1, 100000)\n"
    "select count(*) from wide where id between :first and :first + 20000 and pad = 'nowhere';\n"
)
WIDE_TABLE = """
create table wide (id int not null, pad text not null) with (fillfactor = 100);
insert into wide select n, repeat('x', 900) from generate_series(1, 120000) n;
create index wide_id on wide (id);
vacuum analyze wide;
"""
#: Each of six settings makes one of its statements slow, and each by about as much time.
SIX = "begin;\n" + JOIN_ALL + SORT + SOME_GROUPS * 2 + FIRST_BY_DATE * 3 + NARROW * 2 + PARTITION * 10 + "end;\n"
ENTRIES = "insert into entry (note) select repeat('x', 1000) from generate_series(1, 200);\n"


@dataclass(frozen=True)
class Planted:
    """``bad`` are the settings that do harm to this workload, beside ``harmless`` of the others."""

    name: str
    bad: Mapping[str, str]
    script: str
    schema: str = SHOP
    clients: int = 2
    protocol: str = "simple"
    harmless: int = 40
    warm_up: str = "0.3s"
    measure: str = "0.7s"
    budget: str = "6m"


PLANTED = (
    Planted("planner-cost", {"random_page_cost": "10000"}, LOOK_UP),
    Planted("enable-flag", {"enable_hashjoin": "off"}, JOIN_ALL),
    Planted("commit-delay", {"commit_delay": "20000"}, "builtin:tpcb-like", clients=16),
    Planted("wal-buffers", {"wal_buffers": "32kB"}, ENTRIES, clients=8),
    Planted("work-mem", {"work_mem": "64kB"}, SORT),
    Planted("jit-threshold", {"jit_above_cost": "0"}, JOIN),
    Planted("collapse-limit", {"join_collapse_limit": "1"}, NARROW),
    Planted("log-statement", {"log_statement": "all"}, LOOK_UPS, protocol="extended"),
    Planted("io", {"debug_io_direct": "data"}, WIDE, WIDE_TABLE, clients=4),
    Planted(
        "six",
        {
            "enable_hashagg": "off",
            "enable_hashjoin": "off",
            "enable_incremental_sort": "off",
            "enable_partition_pruning": "off",
            "join_collapse_limit": "1",
            "work_mem": "64kB",
        },
        SIX,
        harmless=26,
        warm_up="1s",
        measure="3s",
        budget="25m",
    ),
)


@dataclass(frozen=True)
class Named:
    """What one assay answered of what was planted."""

    planted: str
    bad: Mapping[str, str]
    settings: int
    workload: str
    named: Mapping[str, tuple[float, tuple[float, float]]]
    found: int
    bystanders_named: Sequence[str]
    whole: tuple[float | None, ...]
    smallest: Sequence[str]
    resolution: float | None
    trials: int
    took_s: float
    version: str


def settings_of(planted: Planted, seed: int, major: int) -> dict[str, str]:
    """The bad ones among the harmless ones, in an order of their own."""
    draw = random.Random(f"{seed} {planted.name}")
    there = sorted(name for name in HARMLESS if SINCE.get(name, 0) <= major)
    chosen = dict(planted.bad) | {name: HARMLESS[name] for name in draw.sample(there, planted.harmless)}
    names = list(chosen)
    draw.shuffle(names)
    return {name: chosen[name] for name in names}


def assayed(planted: Planted, folder: Path, *, seed: int, version: str, bindir: str | None) -> Named:
    """Raises SystemExit with the words of a command that failed."""
    settings = settings_of(planted, seed, int(version.split(".", maxsplit=1)[0]))
    (folder / "planted.conf").write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
    script = planted.script
    if not script.startswith("builtin:"):
        (folder / "planted.sql").write_text(script)
        script = "planted.sql"
    words = ["assay", "planted.conf", "--script", script, "-c", str(planted.clients), "--budget", planted.budget]
    words += ["--warm-up", planted.warm_up, "--measure", planted.measure, "--seed", str(seed), "--json"]
    words += ["-M", planted.protocol]
    words += ["--bindir", bindir] if bindir is not None else ["--version", version]
    if script == "planted.sql":
        (folder / "schema.sql").write_text(planted.schema)
        words += ["--schema", "schema.sql"]
    began = time.monotonic()
    done = subprocess.run([PGCLINIC, *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    took_s = time.monotonic() - began
    if not done.stdout:
        sys.exit(f"{planted.name}: no answer")
    seen = msgspec.json.decode(done.stdout.encode(), type=AssayOutput)
    return Named(
        planted=planted.name,
        bad=planted.bad,
        settings=len(settings),
        workload=f"{planted.clients} clients, {planted.measure} a trial",
        named={carrier.setting: (carrier.factor, carrier.interval) for carrier in seen.carriers},
        found=sum(carrier.setting in planted.bad for carrier in seen.carriers),
        bystanders_named=[carrier.setting for carrier in seen.carriers if carrier.setting not in planted.bad],
        whole=(seen.whole.ratio, seen.whole.low, seen.whole.high) if seen.whole is not None else (),
        smallest=seen.smallest,
        resolution=seen.resolution,
        trials=seen.trials,
        took_s=round(took_s, 1),
        version=version,
    )


def table(named: Sequence[Named]) -> str:
    """What BENCHMARKS shows."""
    lines = ["| planted | named, with its factor and 95 % CI | others named | the whole | trials | time |"]
    lines.append("|---|---|---|---|---|---|")
    for one in named:
        carriers = ", ".join(
            f"{name} {factor:.3g}x ({low:.3g} to {high:.3g})"
            for name, (factor, (low, high)) in one.named.items()
            if name in one.bad
        )
        whole = "{:.3g}x ({:.3g} to {:.3g})".format(*one.whole) if one.whole and None not in one.whole else ""
        lines.append(
            f"| {one.planted}: {', '.join(f'{k} = {v}' for k, v in one.bad.items())} | {carriers or 'none'} "
            f"| {', '.join(one.bystanders_named) or 'none'} | {whole} | {one.trials} | {one.took_s / 60:.1f} min |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planted", nargs="*", metavar="NAME", help=", ".join(one.name for one in PLANTED))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", default="18")
    parser.add_argument("--bindir", help="binaries of --version, as a build with JIT")
    parser.add_argument("--out", type=Path, default=Path("planted-settings.json"))
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out.exists() else []
    named = [msgspec.convert(one, Named) for one in kept]
    for planted in PLANTED:
        if options.planted and planted.name not in options.planted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            seen = assayed(planted, Path(folder), seed=options.seed, version=options.version, bindir=options.bindir)
        named = [one for one in named if one.planted != planted.name] + [seen]
        options.out.write_text(json.dumps([asdict(one) for one in named], indent=1) + "\n")
        print(table([seen]), flush=True)
    print(table(named))


if __name__ == "__main__":
    main()
