"""The original of an upgrade: a twin's file, or a live database that is captured once and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from pgclinic.capture.live_session import live_session
from pgclinic.capture.twin import capture_twin
from pgclinic.capture.workload import capture_workload
from pgclinic.errors import PgclinicError, UsageError
from pgclinic.lab.temporary import temporary_folder
from pgclinic.model.twin import Twin, TwinWorkload
from pgclinic.pg.session import Access
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.twin.file import write_twin
from pgclinic.twin.kept_capture import find_capture, keep_capture
from pgclinic.twin.kept_file import keep_twin, kept_file
from pgclinic.twin.mask import mask_twin

_TIMEOUT_MS = 5_000
#: Fewer calls in the observation are not the workload of the server.
_CALLS_MIN = 50
#: Values are made at about this rate; so much of the budget may be spent on them.
ROWS_PER_S, BUILD_SHARE = 30_000.0, 0.2


def captured_file(
    access: Access, observe_s: float, masked_text: Callable[[Twin], str], on_stage: Callable[[str], None]
) -> Path:
    """The file of this database's twin: kept by an earlier command, or captured now. The server is only read.

    Raises UsageError, QueryError.
    """
    on_stage("capturing a twin")
    captured = capture_twin(access)
    found = find_capture(access.server, captured)
    if found is not None:
        on_stage(f"using the twin of {captured.database} again that an earlier command has captured")
        return found.path
    on_stage(f"counting statements for {observe_s:g} s")
    twin = mask_twin(replace(captured, workload=_workload(access, observe_s, captured.workload)))
    if not twin.workload.statements:
        raise UsageError(
            f"{captured.database} has no statements to measure",
            hint="pg_stat_statements counts them: create the extension, let the clients run, and try again",
        )
    with temporary_folder("upgrade") as folder:
        path = folder / f"{captured.database.replace('/', '_')}.twin"
        write_twin(path, twin, masked_text=masked_text(twin))
        keep_capture(access.server, path)
        return kept_file(keep_twin(path).sha256)


def _workload(access: Access, observe_s: float, since_reset: TwinWorkload) -> TwinWorkload:
    """What the clients do now, whose transactions are seen; the counters since their reset where that is too little."""
    try:
        with live_session(access, statement_timeout_ms=_TIMEOUT_MS) as session:
            seen = capture_workload(session, access.major, observe_s=observe_s).workload
    except PgclinicError:
        return since_reset
    calls = sum(one.calls for one in seen.statements if StatementKind(one.kind).has_plan)
    return seen if calls >= _CALLS_MIN else since_reset


def scale_within(twin: Twin, budget_s: float) -> float:
    """All rows, or as many as two versions can be filled with in a part of the budget; in whole percents. Pure."""
    rows = sum(table.rows or 0.0 for table in twin.tables if not table.is_partitioned)
    share = budget_s * BUILD_SHARE * ROWS_PER_S / max(2 * rows, 1.0)
    return 1.0 if share >= 1.0 else max(0.01, int(share * 100) / 100)
