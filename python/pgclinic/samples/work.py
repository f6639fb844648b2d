"""What one trial's server did for each transaction."""

from __future__ import annotations

from pgclinic.model.activity import WorkKind
from pgclinic.model.study import Counter
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.deltas import Rate
from pgclinic.samples.mechanism import per_transaction

_OF_SAMPLES = {
    WorkKind.TEMPORARY_FILES: (Rate.TEMP_BYTES,),
    WorkKind.BUFFER_READS: (Rate.BUFFER_READS,),
    WorkKind.WAL: (Rate.WAL_BYTES,),
    WorkKind.FULL_PAGE_IMAGES: (Rate.FULL_PAGE_IMAGES,),
    WorkKind.BUFFERS: (Rate.BUFFER_HITS, Rate.BUFFER_READS),
    WorkKind.SEQUENTIAL_SCANS: (Rate.SEQUENTIAL_SCANS,),
}


def work_of(trial: TrialRecord) -> dict[WorkKind, float]:
    """Per transaction; what this server does not count is left out."""
    load = trial.load
    if load is None or not load.transactions:
        return {}
    found = {}
    for work, rates in _OF_SAMPLES.items():
        each = [
            per_transaction(
                trial.samples,
                rate,
                measured_s=load.span_s,
                transactions=load.served,
                warm_up_transactions=load.warm_up_transactions,
            )
            for rate in rates
        ]
        known = [one for one in each if one is not None]
        if len(known) == len(rates):
            found[work] = sum(known)
    cpu_us = trial.counters.get(Counter.SERVER_CPU_US_PER_TRANSACTION)
    return found if cpu_us is None else {**found, WorkKind.CPU: cpu_us}
