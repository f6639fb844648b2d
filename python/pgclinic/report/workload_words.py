"""What clients do, in words: scripts, or TPC-C in one of its two readings."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.load import Convention
from pgclinic.model.study import Profile, Study, TpccWorkload
from pgclinic.model.trial import TrialRecord
from pgclinic.study.figures import count

_READINGS = {
    Convention.BENCHBASE: (
        "TPC-C as BenchBase implements it: a terminal keeps to its own districts, rests at no time, and a transaction "
        "that fails to serialize (40001) is tried again with new inputs"
    ),
    Convention.SPEC: (
        "TPC-C as its specification has it: districts are drawn anew each time, and a transaction that fails to "
        "serialize or deadlocks (40001, 40P01) is tried again with the same inputs"
    ),
}


def tpcc_rows(tpcc: TpccWorkload, warehouses: int | None) -> tuple[tuple[str, str], ...]:
    """Reading, isolation and size of a TPC-C workload, as labels and contents."""
    size = count(warehouses, "warehouse") if warehouses is not None else "as many warehouses as the profile says"
    return (
        ("Workload", f"{_READINGS[tpcc.convention]}; {count(tpcc.max_tries, 'attempt')} at most"),
        ("Data", f"{size}, filled anew from the same seed; every trial has its own copy"),
        ("Isolation", tpcc.isolation.value.replace("_", " ")),
    )


def clients_of(study: Study, profile: Profile | None, trials: Sequence[TrialRecord]) -> int:
    """How many clients ran: the trials know best, then the profile."""
    if trials:
        return trials[0].spec.load.clients
    return (profile.clients if profile is not None else None) or study.workload.clients


def warehouses_of(profile: Profile | None, trials: Sequence[TrialRecord]) -> int | None:
    """TPC-C's size; None for other workloads."""
    ran = trials[0].spec.load.tpcc if trials else None
    if ran is not None:
        return ran.warehouses
    return profile.warehouses if profile is not None else None
