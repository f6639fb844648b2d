"""The consistency conditions of TPC-C, clause 3.3.2, asked of a database.

All twelve hold after our filling, and after any load whose transactions are isolated as the specification wants.
BenchBase's Payment reads a customer and writes the figures back without a lock, so READ COMMITTED loses updates of the
same customer, and 10 and 12 then fail: that is a finding about the load, not about the server.
Condition 11 speaks of the first filling in the specification; here deliveries since then are counted in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pgclinic.model.record import Record
from pgclinic.pg.extension_schemas import in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session

STATEMENT_TIMEOUT_MS = 3600 * 1000


@dataclass(frozen=True)
class ConsistencyCondition:
    """``statement`` gives, for a major version, the query that finds the first row that breaks it."""

    number: int
    text: str
    statement: Callable[[int], str]


class Violation(Record):
    """A condition that does not hold. ``key`` is the first row that breaks it, with the figures that differ."""

    condition: int
    text: str
    key: str


CONDITIONS = (
    ConsistencyCondition(
        1, "a warehouse took in what its districts took in", lambda major: query("tpcc_ytd_of_districts", major)
    ),
    ConsistencyCondition(
        2, "the next order of a district follows its newest one", lambda major: query("tpcc_next_order", major)
    ),
    ConsistencyCondition(
        3, "new orders of a district are without a gap", lambda major: query("tpcc_new_orders_without_gap", major)
    ),
    ConsistencyCondition(
        4, "a district has the lines that its orders count", lambda major: query("tpcc_lines_of_districts", major)
    ),
    ConsistencyCondition(
        5, "an order has a carrier unless it is a new order", lambda major: query("tpcc_carrier_of_orders", major)
    ),
    ConsistencyCondition(
        6, "an order has the lines that it counts", lambda major: query("tpcc_lines_of_orders", major)
    ),
    ConsistencyCondition(
        7, "a line has a delivery date if its order has a carrier", lambda major: query("tpcc_delivery_of_lines", major)
    ),
    ConsistencyCondition(
        8, "a warehouse took in what its history says", lambda major: query("tpcc_history_of_warehouses", major)
    ),
    ConsistencyCondition(
        9, "a district took in what its history says", lambda major: query("tpcc_history_of_districts", major)
    ),
    ConsistencyCondition(
        10, "a customer owes what was delivered and not paid", lambda major: query("tpcc_balance_of_customers", major)
    ),
    ConsistencyCondition(
        11, "every order but new ones was delivered", lambda major: query("tpcc_deliveries_of_districts", major)
    ),
    ConsistencyCondition(
        12,
        "a customer's balance and payments are what was delivered",
        lambda major: query("tpcc_payments_of_customers", major),
    ),
)
ALL_NUMBERS = tuple(condition.number for condition in CONDITIONS)
#: What lost updates of customers break, see above.
LOST_UPDATE_NUMBERS = (10, 12)


def check_consistency(access: Access, conditions: Collection[int] = ALL_NUMBERS) -> tuple[Violation, ...]:
    """The ``conditions`` that do not hold, by number; empty is good. Reads all tables, some of them twice."""
    with Session(
        access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-check", users_search_path=True
    ) as session:
        return violations(session, access.major, conditions)


def violations(session: Session, major: int, conditions: Collection[int] = ALL_NUMBERS) -> tuple[Violation, ...]:
    """The same in a session that is open already, and finds the tables by the user's search_path."""
    (warehouse,) = session.row(query("relation_oid", major), {"name": "warehouse"})
    with session.catalog_only():
        found = session.rows(query("relation_schema", major), {"relation": warehouse})
        schemas = {"tpcc": str(found[0][0])} if found else {}
        session.execute(query("tpcc_own_settings", major))
        return tuple(
            Violation(condition=condition.number, text=condition.text, key=str(rows[0][0]))
            for condition in CONDITIONS
            if condition.number in conditions
            and (rows := session.rows(in_schemas(condition.statement(major), schemas)))
        )
