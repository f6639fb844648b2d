"""What a database holds of TPC-C, by the marks that a filling leaves in the comments of its tables."""

from __future__ import annotations

import re
from enum import Enum

from pgclinic.model.record import Record
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

MARK = "pgclinic tpcc"
_FILLED = re.compile(rf"{MARK}: (?P<warehouses>\d+) warehouses, seed (?P<seed>\d+)")
_TABLES = 9
_TIMEOUT_MS = 60_000


class StateKind(str, Enum):
    ABSENT = "absent"
    HALF_FILLED = "half filled"
    FILLED = "filled"
    FOREIGN = "foreign"


class TpccState(Record):
    """``warehouses`` and ``seed`` of what is filled; ``table`` is the first one that is not ours when foreign."""

    kind: StateKind
    warehouses: int = 0
    seed: int = 0
    table: str = ""


def tpcc_state(access: Access) -> TpccState:
    """What the database of ``access`` holds."""
    with Session(
        access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-fill", users_search_path=True
    ) as session:
        return read_state(session, access.major)


def read_state(session: Session, major: int) -> TpccState:
    return state_of(dict(session.rows(query("tpcc_marks", major))))


def state_of(comments: dict[str, str | None]) -> TpccState:
    """The state that the comments of the tables that exist tell.

    A table that is missing, or a mark that stops in the middle, is what a filling leaves that did not come to its end.
    """
    if not comments:
        return TpccState(kind=StateKind.ABSENT)
    foreign = next((table for table, comment in comments.items() if not (comment or "").startswith(MARK)), None)
    if foreign is not None:
        return TpccState(kind=StateKind.FOREIGN, table=foreign)
    filled = _FILLED.fullmatch(comments.get("warehouse") or "")
    if filled is None or len(comments) < _TABLES:
        return TpccState(kind=StateKind.HALF_FILLED)
    return TpccState(kind=StateKind.FILLED, warehouses=int(filled["warehouses"]), seed=int(filled["seed"]))


def filled_mark(warehouses: int, seed: int) -> str:
    return f"{MARK}: {warehouses} warehouses, seed {seed}"
