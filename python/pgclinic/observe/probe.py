"""How many pages one statement visits, by EXPLAIN (ANALYZE, BUFFERS)."""

from __future__ import annotations

import json
from typing import Any

from pgclinic.model.trial import Probe
from pgclinic.pg.session import Access, Session

STATEMENT_TIMEOUT_MS = 10_000


def visit_pages(access: Access, statement: str, *, timeout_ms: int = STATEMENT_TIMEOUT_MS) -> Probe:
    """Run ``statement`` once under EXPLAIN (ANALYZE, BUFFERS) and count the pages of its execution.

    Raises QueryError when it fails or takes longer than ``timeout_ms``.
    """
    with Session(access, statement_timeout_ms=timeout_ms, application_name="pgclinic-probe") as session:
        # Twice: the first run in a new session also reads catalogs into its caches.
        session.execute(statement)
        (plans,) = session.row(f"explain (analyze, buffers, format json) {statement}")
        document = json.loads(plans) if isinstance(plans, str) else plans
        lines = session.rows(f"explain (analyze, buffers) {statement}")
    return Probe(pages=_pages(document[0]["Plan"]), plan="\n".join(line for (line,) in lines))


def _pages(plan: dict[str, Any]) -> int:
    # A node's figures include those of the nodes below it.
    return int(plan.get("Shared Hit Blocks", 0)) + int(plan.get("Shared Read Blocks", 0))
