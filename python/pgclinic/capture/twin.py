"""A live database as a twin keeps it: schema, statistics, sizes and settings, read over one connection."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.capture.catalog import (
    Catalog,
    read_catalog,
    read_settings,
    read_sizes,
    read_table_names,
    read_texts,
)
from pgclinic.capture.horizon import HoldTracker
from pgclinic.capture.impossible_figures import without_impossible
from pgclinic.capture.reader import PartReader
from pgclinic.capture.reading import ReadingSession
from pgclinic.capture.schema import schema_gaps, schema_objects
from pgclinic.capture.selection import selected, tables_named
from pgclinic.capture.statistics import Statistics, read_statistics
from pgclinic.capture.tables import twin_sequences, twin_tables
from pgclinic.capture.workload import capture_workload
from pgclinic.errors import UsageError
from pgclinic.model.snapshot import HorizonHolding
from pgclinic.model.twin import Gap, HorizonHold, Twin
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError

#: Shorter holds are those of any statement.
HOLD_S_MIN = 1.0
OLDEST_MAJOR = 13
ATTEMPTS = 5


def capture_twin(access: Access, *, tables: Sequence[str] = (), observe_s: float = 0.0) -> Twin:
    """Everything that a twin needs of the database behind ``access``; values stand in it as they are.

    ``tables`` are names, with or without a schema, or patterns with ``*``; all tables if there are none. With
    ``observe_s`` statements are those of so many seconds, else those since the counters were reset. Nothing is
    written on the server. Raises UsageError for an older server, UnknownNameError for a table, QueryError when
    the server is lost.
    """
    if access.major < OLDEST_MAJOR:
        raise UsageError(f"a twin needs PostgreSQL {OLDEST_MAJOR} or newer, this server has {access.server.version}")
    began_s = time.monotonic()
    with ReadingSession(access) as reading:
        if tables:
            tables_named(read_table_names(reading), tables)
        settings = read_settings(reading)
        # Whatever a capture asks is counted as well: counters are read before anything that takes long.
        workload = capture_workload(reading.session, reading.major, observe_s=observe_s)
        holds, hold_gaps = _holds(reading)
        reading.print_as_captured()
        sizes = read_sizes(reading)
        catalog, statistics = _of_one_moment(reading, settings)
        texts = read_texts(reading, catalog, sizes)
    server = catalog.server
    twin = Twin(
        version=server["version"].split(" ")[0],
        version_num=access.server.version_num,
        captured_epoch_s=time.time(),
        capture_s=time.monotonic() - began_s,
        database=server["database"],
        database_bytes=server["bytes"],
        encoding=server["encoding"],
        collate=server["collate"],
        ctype=server["ctype"],
        settings=settings,
        objects=schema_objects(catalog, texts),
        tables=twin_tables(catalog, texts, statistics),
        sequences=twin_sequences(catalog, texts),
        workload=workload.workload,
        holds=holds,
        masked=False,
        gaps=(
            *workload.gaps,
            *hold_gaps,
            *schema_gaps(catalog, texts),
            *statistics.gaps,
            *_sequence_gap(catalog.sequences, server["role"]),
        ),
    )
    return selected(without_impossible(twin), tables)


def _of_one_moment(reading: ReadingSession, settings: dict[str, str]) -> tuple[Catalog, Statistics]:
    """Catalog and statistics of one snapshot.

    PostgreSQL's own functions see newer catalogs than the snapshot: a type that was dropped meanwhile is an internal
    error to them, and the next snapshot has it no more.
    """
    for attempt in range(ATTEMPTS):
        try:
            with reading.snapshot():
                catalog = read_catalog(reading, settings)
                return catalog, read_statistics(reading, catalog)
        except QueryError as error:
            if attempt == ATTEMPTS - 1 or not (error.sqlstate or "").startswith("XX"):
                raise
    raise AssertionError("every attempt returns or raises")


def _holds(reading: ReadingSession) -> tuple[tuple[HorizonHold, ...], tuple[Gap, ...]]:
    """Who holds the horizon now; ``pgclinic capture horizon`` records it over time."""
    tracker = HoldTracker(every_s=HOLD_S_MIN, bin_s=HOLD_S_MIN)
    try:
        reader = PartReader(reading.session, reading.major)
        tracker.sample(0.0, reader.rows("horizon", HorizonHolding, query("snapshot_horizon", reading.major)))
    except QueryError as error:
        return (), (Gap(what="horizon", problem=error.message.splitlines()[0]),)
    # Names of prepared transactions and of applications may be made of data, and no twin needs them.
    return tuple(replace(hold, holder="") for hold in tracker.holds() if hold.held_s >= HOLD_S_MIN), ()


def _sequence_gap(sequences: Sequence[dict[str, object]], role: str) -> tuple[Gap, ...]:
    """Sequences whose last value may not be read start behind the largest key of the rows."""
    hidden = tuple(str(row["name"]) for row in sequences if not row["is_readable"])
    if not hidden:
        return ()
    return (
        Gap(
            what="sequence values",
            problem="no right to read",
            tables=hidden,
            grant=f"grant select on sequence {', '.join(hidden)} to {role}",
        ),
    )
