"""The types that the server itself finds for the places of a statement that have no cast."""

from __future__ import annotations

from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.statement_places import TypedStatement

_NAME = "pgclinic_types"


def found_types(session: Session, statement: TypedStatement) -> dict[int, str]:
    """The type of each place by its number; none where the server cannot prepare the statement.

    By the signatures of functions and operators: what is said of a ``$n`` without a type holds for a literal as well.
    Raises QueryError when the connection is lost.
    """
    try:
        session.execute(f"prepare {_NAME} as {statement.text}")
    except QueryError as error:
        if error.sqlstate is None:
            raise
        return {}
    try:
        (types,) = session.row(query("prepared_types", session.version_num // 10_000), {"name": _NAME})
    finally:
        session.execute(f"deallocate {_NAME}")
    return dict(enumerate(types, start=1))
