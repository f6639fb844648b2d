"""Vacuums and analyzes as 13 to 18 report them: a headline, then lines of which every version has its own set."""

from __future__ import annotations

import re

from pgclinic.model.log import AnalyzeLogged, IndexVacuum, LogEntry, ResourceUse, VacuumLogged
from pgclinic.pg.log.amounts import from_milliseconds, from_seconds

_VACUUM = re.compile(
    r"(?P<how>automatic |finished )(?P<aggressive>aggressive )?vacuum(?:ing)?(?P<wraparound> to prevent wraparound)?"
    r'(?: of table)? "(?P<table>[^\n]*)": index scans: (?P<scans>\d+)'
)
_ANALYZE = re.compile(
    r'(?P<how>automatic analyze of|finished analyzing) table "(?P<table>[^\n]*?)"(?=\n| system usage|\Z)'
)
# Every pattern gives fields of the record by the names of its groups; what a version does not write stays None.
_VACUUM_LINES = (
    re.compile(r"^pages: (?P<pages_removed>\d+) removed, (?P<pages_remain>\d+) remain", re.MULTILINE),
    re.compile(r"^pages: [^\n]* (?P<pages_scanned>\d+) scanned \(", re.MULTILINE),
    re.compile(r"^pages: [^\n]* (?P<pages_eagerly_scanned>\d+) eagerly scanned", re.MULTILINE),
    re.compile(
        r"^pages: [^\n]* (?P<pages_skipped_pinned>\d+) skipped due to pins, "
        r"(?P<pages_skipped_frozen>\d+) skipped frozen",
        re.MULTILINE,
    ),
    re.compile(
        r"^tuples: (?P<tuples_removed>\d+) removed, (?P<tuples_remain>\d+) remain, "
        r"(?P<tuples_dead_not_removable>\d+) are dead but not yet removable"
        r"(?:, oldest xmin: (?P<removable_cutoff>\d+))?",
        re.MULTILINE,
    ),
    re.compile(r"^tuples missed: (?P<tuples_missed>\d+) dead from", re.MULTILINE),
    re.compile(
        r"^removable cutoff: (?P<removable_cutoff>\d+), which was (?P<cutoff_age_xids>-?\d+) XIDs old", re.MULTILINE
    ),
    re.compile(
        r"^new relfrozenxid: (?P<relfrozenxid>\d+), which is (?P<relfrozenxid_advance>-?\d+) XIDs ahead", re.MULTILINE
    ),
    re.compile(
        r"^frozen: (?P<pages_frozen>\d+) pages from table \([^\n]*\) had (?P<tuples_frozen>\d+) tuples", re.MULTILINE
    ),
    re.compile(
        r"^visibility map: (?P<pages_set_all_visible>\d+) pages set all-visible, "
        r"(?P<pages_set_all_frozen>\d+) pages set all-frozen",
        re.MULTILINE,
    ),
    re.compile(
        r"^index scan [a-z ]+: (?P<pages_with_dead_items>\d+) pages from table \([^\n]*\) (?:had|have) "
        r"(?P<dead_items>\d+) dead item",
        re.MULTILINE,
    ),
)
_VACUUM_FIELDS = tuple(name for pattern in _VACUUM_LINES for name in pattern.groupindex)
_INDEXES_WHY = re.compile(r"^index scan ([a-z ]+):", re.MULTILINE)
_INDEX = re.compile(
    r'^index "([^\n]*)": pages: (\d+) in total, (\d+) newly deleted, (\d+) currently deleted, (\d+) reusable',
    re.MULTILINE,
)
_BUFFERS = re.compile(
    r"^buffer usage: (?P<buffer_hits>\d+) hits, (?P<buffer_reads>\d+) (?:misses|reads), "
    r"(?P<buffers_dirtied>\d+) dirtied",
    re.MULTILINE,
)
_WAL = re.compile(
    r"^WAL usage: (?P<wal_records>\d+) records, (?P<wal_full_page_images>\d+) full page images, "
    r"(?P<wal_bytes>\d+) bytes"
    r"(?:, (?P<wal_buffers_full>\d+) buffers full)?",
    re.MULTILINE,
)
_RATES = re.compile(r"^avg read rate: (\d+\.\d+) MB/s, avg write rate: (\d+\.\d+) MB/s", re.MULTILINE)
_IO = re.compile(r"^I/O timings: read: (\d+\.\d+) ms, write: (\d+\.\d+) ms", re.MULTILINE)
_DELAY = re.compile(r"^delay time: (\d+\.\d+) ms", re.MULTILINE)
_SYSTEM = re.compile(r"system usage: CPU: user: (\d+\.\d+) s, system: (\d+\.\d+) s, elapsed: (\d+\.\d+) s")
_MIB = 1024 * 1024


def vacuum_logged(entry: LogEntry) -> VacuumLogged | None:
    """The report of one vacuum; None when the message is none, such as the start of VACUUM VERBOSE."""
    headline = _VACUUM.match(entry.message)
    if headline is None:
        return None
    numbers: dict[str, int | None] = dict.fromkeys(_VACUUM_FIELDS)
    for pattern in _VACUUM_LINES:
        if found := pattern.search(entry.message):
            numbers.update({name: int(value) for name, value in found.groupdict().items() if value is not None})
    why = _INDEXES_WHY.search(entry.message)
    return VacuumLogged(
        origin=entry.origin,
        table=headline["table"],
        automatic=headline["how"] == "automatic ",
        aggressive=headline["aggressive"] is not None,
        to_prevent_wraparound=headline["wraparound"] is not None,
        index_scans=int(headline["scans"]),
        indexes_why=why[1] if why else None,
        indexes=tuple(_index(found) for found in _INDEX.finditer(entry.message)),
        use=_use(entry.message),
        **numbers,
    )


def analyze_logged(entry: LogEntry) -> AnalyzeLogged | None:
    """The report of one analyze."""
    headline = _ANALYZE.match(entry.message)
    if headline is None:
        return None
    return AnalyzeLogged(
        origin=entry.origin,
        table=headline["table"],
        automatic=headline["how"].startswith("automatic"),
        use=_use(entry.message),
    )


def _index(found: re.Match[str]) -> IndexVacuum:
    pages, newly, deleted, reusable = (int(found[place]) for place in range(2, 6))
    return IndexVacuum(
        name=found[1], pages=pages, pages_newly_deleted=newly, pages_deleted=deleted, pages_reusable=reusable
    )


def _use(message: str) -> ResourceUse:
    counts: dict[str, int] = {}
    for pattern in (_BUFFERS, _WAL):
        if found := pattern.search(message):
            counts.update({name: int(value) for name, value in found.groupdict().items() if value is not None})
    rates, timings, delay, system = (pattern.search(message) for pattern in (_RATES, _IO, _DELAY, _SYSTEM))
    return ResourceUse(
        read_rate_bytes_per_s=float(rates[1]) * _MIB if rates else None,
        write_rate_bytes_per_s=float(rates[2]) * _MIB if rates else None,
        io_read_us=from_milliseconds(timings[1]) if timings else None,
        io_write_us=from_milliseconds(timings[2]) if timings else None,
        delay_us=from_milliseconds(delay[1]) if delay else None,
        cpu_user_us=from_seconds(system[1]) if system else None,
        cpu_system_us=from_seconds(system[2]) if system else None,
        elapsed_us=from_seconds(system[3]) if system else None,
        **counts,
    )
