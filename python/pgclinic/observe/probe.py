"""What the planner makes of one statement and how many pages it then visits, by EXPLAIN."""

from __future__ import annotations

import json
from typing import Any

from pgclinic.model.trial import Probe
from pgclinic.pg.session import Access, QueryError, Session

STATEMENT_TIMEOUT_MS = 10_000
_CANCELLED = "57014"


def visit_pages(access: Access, statement: str, *, timeout_ms: int = STATEMENT_TIMEOUT_MS) -> Probe:
    """Plan ``statement``, run it under EXPLAIN (ANALYZE, BUFFERS) and count the pages of its execution.

    One that takes longer than ``timeout_ms`` keeps its plan and has no pages. Raises QueryError for other failures.
    """
    with Session(
        access.of_author, statement_timeout_ms=timeout_ms, application_name="pgclinic-probe", users_search_path=True
    ) as session:
        planned = _document(session, f"explain (format json) {statement}")
        try:
            # Once before: the first run in a new session also reads catalogs into its caches.
            session.execute(statement)
            visited: int | None = _pages(_document(session, f"explain (analyze, buffers, format json) {statement}"))
            lines = session.rows(f"explain (analyze, buffers) {statement}")
        except QueryError as error:
            if error.sqlstate != _CANCELLED:
                raise
            visited, lines = None, session.rows(f"explain {statement}")
    return Probe(pages=visited, plan="\n".join(line for (line,) in lines), sequential_scans=_sequential_scans(planned))


def _document(session: Session, explain: str) -> dict[str, Any]:
    (plans,) = session.row(explain)
    document = json.loads(plans) if isinstance(plans, str) else plans
    plan: dict[str, Any] = document[0]["Plan"]
    return plan


def _pages(plan: dict[str, Any]) -> int:
    # A node's figures include those of the nodes below it.
    return int(plan.get("Shared Hit Blocks", 0)) + int(plan.get("Shared Read Blocks", 0))


def _sequential_scans(plan: dict[str, Any]) -> int:
    here = int("Seq Scan" in str(plan.get("Node Type", "")))
    return here + sum(_sequential_scans(child) for child in plan.get("Plans", ()))
