"""Plans of a live server's statements by EXPLAIN, which plans a statement and does not run it."""

from __future__ import annotations

import re
from collections.abc import Callable

from pgclinic.capture.live_session import live_session
from pgclinic.errors import ServerLostError, UsageError
from pgclinic.model.query_plan import PlanSource, QueryPlan
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.twin import Gap
from pgclinic.pg.powers import may_leave_database
from pgclinic.pg.query_files import query
from pgclinic.pg.query_plan import nodes_of_json
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.sql.statement_kind import known_statement

#: Those with the most time; what comes after them takes none that anybody would notice.
STATEMENTS_MAX = 100
_GENERIC_SINCE = 16
_PLACE = re.compile(r"\$(\d+)")


def check_role(access: Access) -> None:
    """Raises UsageError for a role with which the functions of others, run while planning, could leave the database."""
    if may_leave_database(access):
        raise UsageError(
            f"--plans: {access.server.user} may run programs or use files of the server, and so could functions in the "
            "statements of others when they are planned",
            hint="name a role with pg_monitor and SELECT on the tables, or read plans of auto_explain with --log FILE",
        )


def read_plans(
    access: Access, snapshot: Snapshot, on_statement: Callable[[int, int], None] = lambda *_: None
) -> tuple[tuple[QueryPlan, ...], Gap | None]:
    """Plans for any parameters of the statements with the most time, and how many could not be planned.

    ``on_statement`` hears how many of how many are planned. Raises UsageError, ServerLostError.
    """
    texts = {text.query_id: text.text for text in snapshot.statement_texts}
    spent: dict[int, float] = {}
    for counted in snapshot.counters.statements:
        spent[counted.query_id] = spent.get(counted.query_id, 0.0) + counted.total_ms
    wanted = [key for key in spent if known_statement(texts.get(key, "")).kind.has_plan]
    wanted = sorted(wanted, key=lambda key: -spent[key])[:STATEMENTS_MAX]
    plans: list[QueryPlan] = []
    problem = ""
    with live_session(access) as session:
        _use_names(session, access, snapshot)
        for number, key in enumerate(wanted):
            on_statement(number, len(wanted))
            try:
                nodes = nodes_of_json(_planned(session, access.major, texts[key]))
            except QueryError as error:
                if error.sqlstate is None:
                    raise ServerLostError(f"the server was lost: {error.message}") from error
                problem = problem or error.message.splitlines()[0]
                continue
            plans.append(QueryPlan(source=PlanSource.GENERIC, nodes=nodes, query_id=key))
    missing = len(wanted) - len(plans)
    gap = Gap(what="plans", problem=f"{missing} of {len(wanted)} statements: {problem}") if missing else None
    return tuple(plans), gap


def _use_names(session: Session, access: Access, snapshot: Snapshot) -> None:
    """As the planner is set there, and with the names that sessions of this role find. Raises ServerLostError."""
    path = next((setting.reset_value for setting in snapshot.settings if setting.name == "search_path"), None)
    try:
        session.rows(query("session_as_configured", access.major))
        session.rows(
            "select pg_catalog.set_config('search_path', %(path)s, false)", {"path": path or '"$user", public'}
        )
        if access.major < _GENERIC_SINCE:
            session.rows("select pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false)")
    except QueryError as error:
        raise ServerLostError(f"the server was lost: {error.message}") from error


def _planned(session: Session, major: int, text: str) -> dict[str, object]:
    """What stands behind Plan. Raises QueryError."""
    if major >= _GENERIC_SINCE:
        (found,) = session.row(f"explain (generic_plan, format json) {text}")
        return dict(found[0]["Plan"])
    places = max((int(number) for number in _PLACE.findall(text)), default=0)
    arguments = f"({', '.join(['null'] * places)})" if places else ""
    session.execute(f"prepare pgclinic_generic as {text}")
    try:
        (found,) = session.row(f"explain (format json) execute pgclinic_generic{arguments}")
        return dict(found[0]["Plan"])
    finally:
        session.execute("deallocate pgclinic_generic")
