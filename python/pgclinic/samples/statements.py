"""One row a statement, from the server's statistics, the engine, the activity samples and the log. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.model.load import CommandKind, Histogram, LoadResult, StatementResult
from pgclinic.model.log import PlanLogged, SlowStatement
from pgclinic.model.record import Record
from pgclinic.model.sample import Samples, StatementGrowth
from pgclinic.model.statement import FingerprintMethod, StatementSeen, StatementsSeen, StatementWait
from pgclinic.model.trial_events import TrialEvents
from pgclinic.pg.query_files import query, query_names
from pgclinic.samples.deltas import CUT_OFF_ROWS, top_statements, waits_of, without_other_clients
from pgclinic.samples.statement_plans import PlansFound, plans_of
from pgclinic.sql.fingerprint import fingerprint, fingerprint_method
from pgclinic.stats.hdr import Buckets, decode_histogram

_WAITS = 4


class _Sent(Record):
    """What the engine sent under one fingerprint, by all scripts together."""

    text: str
    executions: int
    latencies: tuple[Histogram, ...]


def statements_seen(
    samples: Samples, load: LoadResult | None, events: TrialEvents, *, major: int, limit: int | None = None
) -> StatementsSeen:
    """The statements that took most time; those by which we observe are left out. ``major`` is the server's version."""
    method = fingerprint_method()
    sent = _sent(load, method)
    counted = top_statements(samples, limit=CUT_OFF_ROWS)
    rows = _counted(counted, sent, major, method) if counted else _of_engine(sent, events, method)
    rows = sorted(rows, key=lambda row: row.total_ms, reverse=True)[:limit]
    found = plans_of([event.event for event in events.kept if isinstance(event.event, PlanLogged)], rows, method)
    waits = _waits(samples, load.span_s if load is not None else None)
    return StatementsSeen(
        statements=tuple(_completed(row, waits, found) for row in rows),
        counted_by_server=bool(counted),
        fingerprints_by=method,
        plans_by_query_id=found.by_query_id,
        plans_by_fingerprint=found.by_fingerprint,
        plans_unmatched=found.unmatched,
    )


def load_query_ids(samples: Samples, load: LoadResult) -> frozenset[int] | None:
    """The query ids under which the server counted what the load sent; None where it counts no statements."""
    if not samples.of("statements"):
        return None
    method = fingerprint_method()
    sent = _sent(load, method)
    ids = {row.query_id for row in top_statements(samples, limit=CUT_OFF_ROWS) if _print(row, method) in sent}
    return frozenset(ids)


def counted_fingerprints(samples: Samples, method: FingerprintMethod) -> dict[int, str | None]:
    """All query ids that the statistics have at the end, with fingerprints of those texts that were asked for."""
    counted = [row.get("query_id") for one in samples.of("statements")[-1:] for row in one.rows]
    texts = {
        row.get("query_id"): str(row.get("query")) for sample in samples.of("statement_texts") for row in sample.rows
    }
    return {
        query_id: fingerprint(texts[query_id], method) if query_id in texts else None
        for query_id in counted
        if isinstance(query_id, int)
    }


def _counted(
    counted: Iterable[StatementGrowth], sent: Mapping[str, _Sent], major: int, method: FingerprintMethod
) -> list[StatementSeen]:
    """By the server's own figures, with the engine's percentiles beside them."""
    prints = [(row, _print(row, method)) for row in counted]
    shared, ours = Counter(key for _, key in prints), _observers(major, method)
    rows = []
    for growth, key in prints:
        if key in ours:
            continue
        own = sent.get(key) if key is not None else None
        row = StatementSeen(
            text=growth.text or f"query {growth.query_id}",
            fingerprint=key,
            query_id=growth.query_id,
            of_load=own is not None,
            calls=growth.calls,
            total_ms=growth.total_ms,
            mean_ms=growth.total_ms / growth.calls,
            rows=growth.rows,
            hits=growth.hits,
            reads=growth.reads,
            wal_bytes=growth.wal_bytes,
        )
        # The engine cannot tell apart what has one fingerprint and several ids.
        rows.append(row if own is None or shared[key] > 1 else replace(row, **_percentiles(own.latencies)))
    return rows


def _of_engine(sent: Mapping[str, _Sent], events: TrialEvents, method: FingerprintMethod) -> list[StatementSeen]:
    """Where the server counts no statements: as the client saw them, with ids from the log if it tells any."""
    ids = _logged_ids(events, method)
    rows = []
    for key, own in sent.items():
        total_ms = sum(latency.mean_us * latency.count for latency in own.latencies) / 1000
        row = StatementSeen(
            text=own.text,
            fingerprint=key,
            query_id=ids.get(key),
            of_load=True,
            calls=float(own.executions),
            total_ms=total_ms,
            mean_ms=total_ms / own.executions,
        )
        rows.append(replace(row, **_percentiles(own.latencies)))
    return rows


def _completed(row: StatementSeen, waits: Mapping[int, tuple[StatementWait, ...]], found: PlansFound) -> StatementSeen:
    return replace(
        row,
        waits=waits.get(row.query_id, ()) if row.query_id is not None else (),
        plans=found.plans.get((row.query_id, row.fingerprint), ()),
    )


def _sent(load: LoadResult | None, method: FingerprintMethod) -> dict[str, _Sent]:
    """By fingerprint what the engine sent while measuring."""
    found: dict[str, list[StatementResult]] = defaultdict(list)
    for script in load.scripts if load is not None else ():
        for statement in script.statements:
            if statement.kind is CommandKind.SQL and statement.executions > 0:
                found[fingerprint(statement.text, method)].append(statement)
    return {
        key: _Sent(
            text=own[0].text.strip().removesuffix(";"),
            executions=sum(one.executions for one in own),
            latencies=tuple(one.latency for one in own if one.latency.count > 0),
        )
        for key, own in found.items()
    }


def _print(row: StatementGrowth, method: FingerprintMethod) -> str | None:
    return fingerprint(row.text, method) if row.text is not None else None


@lru_cache(maxsize=8)
def _observers(major: int, method: FingerprintMethod) -> frozenset[str]:
    """What our own looks at the server are called in its statistics."""
    prints = set()
    for name in query_names("sample_"):
        # A view that this version lacks is not asked.
        with suppress(UsageError):
            prints.add(fingerprint(query(name, major), method))
    return frozenset(prints)


def _logged_ids(events: TrialEvents, method: FingerprintMethod) -> dict[str, int]:
    """From the lines of whole statements alone: that of a plan may tell another one's id."""
    found = {}
    for one in events.kept:
        event = one.event
        if isinstance(event, SlowStatement) and event.text is not None and event.phase in ("statement", "execute"):
            query_id = event.origin.query_id
            if query_id is not None:
                found[fingerprint(event.text, method)] = query_id
    return found


def _percentiles(latencies: Sequence[Histogram]) -> dict[str, float]:
    """In ms; of several histograms by their buckets."""
    if not latencies:
        return {}
    if len(latencies) == 1:
        one = latencies[0]
        values = (one.p50_us, one.p95_us, one.p99_us)
    else:
        together = _merged(latencies)
        values = (together.percentile(50), together.percentile(95), together.percentile(99))
    return dict(zip(("p50_ms", "p95_ms", "p99_ms"), (value / 1000 for value in values), strict=True))


def _merged(latencies: Iterable[Histogram]) -> Buckets:
    counts: Counter[int] = Counter()
    for latency in latencies:
        counts.update(dict(decode_histogram(latency.hdr).counts))
    return Buckets(tuple(sorted(counts.items())), ())


def _waits(samples: Samples, measured_s: float | None) -> dict[int, tuple[StatementWait, ...]]:
    """By query id what its sessions waited for, most often first."""
    taken = [one for one in samples.of("activity") if one.at_s >= 0 and (measured_s is None or one.at_s <= measured_s)]
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for sample in taken:
        by_id = defaultdict(list)
        for row in without_other_clients(sample.rows):
            query_id = row.get("query_id")
            if isinstance(query_id, int):
                by_id[query_id].append(row)
        for query_id, rows in by_id.items():
            sums[query_id].update(waits_of(rows))
    return {
        query_id: tuple(
            StatementWait(wait=wait, backends=total / len(taken)) for wait, total in counter.most_common(_WAITS)
        )
        for query_id, counter in sums.items()
    }
