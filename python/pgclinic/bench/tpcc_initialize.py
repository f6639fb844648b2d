"""``--tpcc -i``: the nine tables, filled, and checked as the specification wants them."""

from __future__ import annotations

import time

from pgclinic.bench.request import TpccInitRequest
from pgclinic.bench.tpcc_data import FillListener, refuse_other_rows, violations
from pgclinic.errors import RunFailedError
from pgclinic.load.pgbench_tables import StepTime
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.load.tpcc_state import tpcc_state
from pgclinic.pg.session import Access


def initialize_tpcc(access: Access, request: TpccInitRequest, listener: FillListener) -> tuple[StepTime, ...]:
    """Fill and check; the times of all steps, none where the data were there already.

    Raises UsageError when other rows are there, what fill_tpcc raises, and RunFailedError naming the first condition
    that the data break.
    """
    refuse_other_rows(tpcc_state(access), request)
    began_s = time.monotonic()
    tasks = fill_tpcc(
        access,
        request.warehouses,
        seed=request.seed,
        connections=request.connections,
        replace=request.replace,
        on_stage=listener.stage,
        on_progress=listener.filled,
    )
    # The tasks ran beside each other, so their times do not add up.
    times = [StepTime("fill", time.monotonic() - began_s)] if tasks else []
    if not tasks:
        listener.stage("the tables are filled already; --replace fills them anew")
    if request.check:
        listener.stage("checking consistency")
        began_s = time.monotonic()
        found = violations(access)
        if found:
            first = found[0]
            raise RunFailedError(
                f"the data break consistency condition {first.condition} of TPC-C ({first.text}) at {first.key}",
                hint="something else wrote into these tables; fill them again with --replace",
            )
        times.append(StepTime("check consistency", time.monotonic() - began_s))
    return tuple(times)
