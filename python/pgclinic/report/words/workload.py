"""What clients do, in words: scripts, or TPC-C in one of its two readings."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.dataset import TpccDataset
from pgclinic.model.load import Convention
from pgclinic.model.study import Profile, Study, TpccWorkload
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.figures import count

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
