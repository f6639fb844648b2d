"""TPC-C's tables: whether they are what a run needs, and whether they are still consistent after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pgclinic.bench.request import BenchRequest, TpccInitRequest, TpccWanted
from pgclinic.bench.tpcc_options import TERMINALS_PER_WAREHOUSE
from pgclinic.errors import UsageError
from pgclinic.load.tpcc_consistency import LOST_UPDATE_NUMBERS, check_consistency
from pgclinic.load.tpcc_state import StateKind, TpccState, tpcc_state
from pgclinic.model.bench import TpccViolation
from pgclinic.model.load import Convention, Isolation
from pgclinic.pg.session import Access


@dataclass(frozen=True)
class FillListener:
    """``stage`` gets a line a step, ``filled`` how far a fill is: what, how much of it, of how much."""

    stage: Callable[[str], None] = lambda _: None
    filled: Callable[[str, float, float], None] = lambda what, done, total: None


def settle(request: BenchRequest, access: Access) -> BenchRequest:
    """The request with what only the data can say: warehouses and terminals. Raises UsageError when they do not fit."""
    if request.tpcc is None:
        return request
    state = tpcc_state(access)
    refuse_unfit(state, request.tpcc, access.server.database)
    return settled(request, state.warehouses)


def settled(request: BenchRequest, warehouses: int) -> BenchRequest:
    """The request for that many warehouses, which stand for pgbench's scale. Nothing is vacuumed."""
    assert request.tpcc is not None
    tpcc = replace(
        request.tpcc,
        warehouses=warehouses,
        terminals=request.tpcc.terminals or TERMINALS_PER_WAREHOUSE * warehouses,
    )
    assert tpcc.terminals is not None
    threads = min(request.threads, tpcc.terminals)
    return replace(
        request, tpcc=tpcc, clients=tpcc.terminals, threads=threads, scale=warehouses, vacuum=False, vacuum_all=False
    )


def refuse_unfit(state: TpccState, wanted: TpccWanted, database: str) -> None:
    """Raises UsageError, with what to type, unless the data are whole and as many as are wanted."""
    warehouses = wanted.warehouses or 1
    fill = f"pgclinic bench --tpcc -i --warehouses {warehouses} {database}"
    match state.kind:
        case StateKind.ABSENT:
            raise UsageError("there are no TPC-C tables", hint=f"fill them first: {fill}; or use --lab")
        case StateKind.HALF_FILLED:
            raise UsageError("the TPC-C tables were never filled to the end", hint=f"fill them again: {fill}")
        case StateKind.FOREIGN:
            raise UsageError(
                f"table {state.table} was not filled by pgclinic, so it is not known what it holds",
                hint=f"name an empty database, and fill it: {fill}",
            )
        case StateKind.FILLED if wanted.warehouses not in (None, state.warehouses):
            raise UsageError(
                f"--warehouses says {wanted.warehouses}, the tables were filled with {state.warehouses}",
                hint=f"omit --warehouses, or fill again: {fill} --replace",
            )


def refuse_other_rows(state: TpccState, request: TpccInitRequest) -> None:
    """Raises UsageError when the rows that are there are not those to fill, and are not to be replaced."""
    there = (state.warehouses, state.seed)
    if state.kind is StateKind.FILLED and there != (request.warehouses, request.seed) and not request.replace:
        raise UsageError(
            f"the tables were filled already, with --warehouses {state.warehouses} --seed {state.seed}",
            hint="name another database, or add --replace, which drops them",
        )


def violations(access: Access, ran: TpccWanted | None = None) -> tuple[TpccViolation, ...]:
    """The conditions of the specification that the data break, each with one key that breaks it.

    ``ran`` is the load that they come from, if any: BenchBase's Payment loses updates where nothing isolates it.
    """
    loses = ran is not None and (ran.convention, ran.isolation) == (Convention.BENCHBASE, Isolation.READ_COMMITTED)
    return tuple(
        TpccViolation(
            condition=found.condition,
            text=found.text,
            key=found.key,
            expected=loses and found.condition in LOST_UPDATE_NUMBERS,
        )
        for found in check_consistency(access)
    )
