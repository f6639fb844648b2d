"""What clients do, in words: scripts, or TPC-C in one of its two readings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgclinic.model.dataset import Dataset, PgbenchDataset, SqlDataset, TpccDataset, TwinDataset
from pgclinic.model.load import Convention
from pgclinic.model.study import Profile, Study, TpccWorkload
from pgclinic.model.traffic import ScriptTraffic, Traffic
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.figures import count

_SCRIPTS = 3

_READINGS = {
    Convention.BENCHBASE: (
        "TPC-C as BenchBase implements it: a terminal uses its own districts, never waits, and a transaction "
        "that fails to serialize (40001) is retried with new inputs"
    ),
    Convention.SPEC: (
        "TPC-C as specified: districts are drawn for every transaction, and a transaction that fails to "
        "serialize or deadlocks (40001, 40P01) is retried with the same inputs"
    ),
}


#: What the accounts of pgbench's tables are filled by; its number is 100,000 for each branch.
_BRANCHES = re.compile(r"insert into pgbench_branches\b[^;]*generate_series\(1, (\d+)\)")


def workload_words(dataset: Dataset, traffic: Traffic, clients: int) -> str:
    """select-only on pgbench's tables at scale 5, 1 client; TPC-C with 10 warehouses, 20 clients."""
    sessions = count(clients, "client")
    match dataset:
        case TpccDataset(warehouses=warehouses):
            return f"TPC-C with {count(warehouses, 'warehouse')}, {sessions}"
        case TwinDataset(name=name):
            data = f"the twin {name}"
        case PgbenchDataset(scale=scale):
            data = f"pgbench's tables at scale {scale}"
        case SqlDataset(statements=statements) if is_pgbench_tables(statements):
            found = _BRANCHES.search(statements)
            data = f"pgbench's tables at scale {found[1]}" if found is not None else "pgbench's tables"
        case SqlDataset(statements=statements):
            data = "its own tables" if statements.strip() else "an empty database"
        case _:
            data = "the server's own tables"
    scripts = traffic.scripts if isinstance(traffic, ScriptTraffic) else ()
    if isinstance(dataset, TwinDataset) and len(scripts) != 1:
        return f"the workload of {data}, {sessions}"
    names = [script.name.rpartition("/")[2] for script in scripts]
    shown = ", ".join(names[:_SCRIPTS]) + (f" and {len(names) - _SCRIPTS} others" if len(names) > _SCRIPTS else "")
    return f"{shown or 'no script'} on {data}, {sessions}"


def is_pgbench_tables(statements: str) -> bool:
    """Whether the data are those of ``pgbench -i``."""
    return statements.startswith("create table pgbench_history")


def tpcc_rows(tpcc: TpccWorkload, warehouses: int | None) -> tuple[tuple[str, str], ...]:
    """Reading, isolation and size of a TPC-C workload, as labels and contents."""
    size = count(warehouses, "warehouse") if warehouses is not None else "number of warehouses from the profile"
    return (
        ("Workload", f"{_READINGS[tpcc.convention]}; at most {count(tpcc.max_tries, 'attempt')}"),
        ("Data", f"{size}, filled from the same seed; every trial has its own copy"),
        ("Isolation", tpcc.isolation.value.replace("_", " ")),
    )


def clients_of(study: Study, profile: Profile | None, trials: Sequence[TrialRecord]) -> int:
    """How many clients ran: the trials know best, then the profile."""
    if trials:
        return trials[0].spec.load.clients
    return (profile.clients if profile is not None else None) or study.workload.clients


def warehouses_of(profile: Profile | None, trials: Sequence[TrialRecord]) -> int | None:
    """TPC-C's size; None for other workloads."""
    filled = trials[0].spec.dataset if trials else None
    if isinstance(filled, TpccDataset):
        return filled.warehouses
    return profile.warehouses if profile is not None else None
