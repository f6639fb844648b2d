"""Twins that the next command for the same database finds again, as long as the database is still like that.

The lab's home says for each place of a database which file was captured of it last. Whether that file still serves is
decided by a capture of now, which takes a second: the same schema and settings, about as many rows, and columns whose
statistics agree. What takes long is then there already: rows, values of the statements, the check of the twin.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.lab.home import folder
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.model.server import Server
from pgclinic.model.twin import Twin, TwinTable
from pgclinic.store.run_folder import write_whole
from pgclinic.twin.fidelity import table_figures
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import keep_content, kept_file

#: A workload is that of now for so long.
WORKLOAD_AGE_S_MAX = 3600.0
#: By so much a table may have grown or shrunk; a few rows more or less are none of its statistics.
_ROWS_RATIO, _ROWS = 0.10, 100.0


class KeptCapture(Record):
    """Which file was captured last of the database at one place; ``sha256`` names it."""

    sha256: str
    place: str


@dataclass(frozen=True)
class FoundCapture:
    """A kept twin, and the file that it stands in."""

    twin: Twin
    path: Path


def keep_capture(server: Server, path: Path) -> None:
    """From now on the twin in ``path`` is what the next command finds for the database of ``server``."""
    content = path.read_bytes()
    digest = sha256(content).hexdigest()
    keep_content(digest, content)
    place = _place(server)
    write_whole(_file(place), msgspec.json.encode(KeptCapture(sha256=digest, place=place)))


def find_capture(server: Server, captured: Twin) -> FoundCapture | None:
    """The kept twin of the database that is like ``captured`` of now, whose values need not be masked; else None."""
    place = _place(server)
    try:
        kept = decoded_json(_file(place).read_bytes(), KeptCapture)
        path = kept_file(kept.sha256)
        twin = read_twin(path)
    except (OSError, msgspec.MsgspecError, UsageError):
        return None
    return FoundCapture(twin, path) if kept.place == place and is_same_database(twin, captured) else None


def has_workload_of_now(twin: Twin, query_ids: Collection[int]) -> bool:
    """Whether its workload was observed within the last hour and has these statements."""
    has = {statement.query_id for statement in twin.workload.statements}
    is_recent = time.time() - twin.captured_epoch_s <= WORKLOAD_AGE_S_MAX
    return twin.workload.is_difference and is_recent and has.issuperset(query_ids)


def with_workload_of(twin: Twin, captured: Twin) -> Twin:
    """The rows of ``twin`` with the statements, holds and gaps of a capture of now."""
    return replace(
        twin,
        workload=captured.workload,
        holds=captured.holds,
        gaps=captured.gaps,
        captured_epoch_s=captured.captured_epoch_s,
        capture_s=captured.capture_s,
    )


def is_same_database(kept: Twin, captured: Twin) -> bool:
    """Whether a twin that was built from ``kept`` is one of ``captured`` as well. Pure."""
    return (
        _what_is_equal(kept) == _what_is_equal(captured)
        and [table.name for table in kept.tables] == [table.name for table in captured.tables]
        and all(_is_as_large(*both) for both in zip(kept.tables, captured.tables, strict=True))
        and all(figure.within == figure.of for figure in table_figures(kept.tables, captured.tables))
    )


def _what_is_equal(twin: Twin) -> tuple[object, ...]:
    return (
        twin.version_num // 10_000,
        twin.database,
        twin.encoding,
        twin.collate,
        twin.ctype,
        twin.settings,
        twin.objects,
    )


def _is_as_large(kept: TwinTable, captured: TwinTable) -> bool:
    if kept.rows is None or captured.rows is None:
        return kept.rows is captured.rows
    return abs(kept.rows - captured.rows) <= max(_ROWS, _ROWS_RATIO * kept.rows)


def _place(server: Server) -> str:
    return f"{server.host}:{server.port}/{server.database}"


def _file(place: str) -> Path:
    return folder("twins") / f"{sha256(place.encode()).hexdigest()[:16]}.capture.json"
