"""A recording of the horizon as text for the terminal."""

from __future__ import annotations

from pgclinic.model.horizon import HoldDistribution, HorizonPoint, HorizonRecording
from pgclinic.model.twin import HorizonHold
from pgclinic.report.words.figures import count, number, percent
from pgclinic.samples.horizon_holds import ALL, CATALOG, distributions

#: What a kind of holder is called.
KIND_WORDS = {
    ALL: "all",
    "session": "idle in transaction",
    "query": "query",
    "prepared": "prepared transaction",
    "slot": "replication slot",
    CATALOG: "slot, catalogs only",
    "standby": "standby feedback",
}
HEADS = ("held by", "holds", "time held", "median", "90 %", "99 %", "longest", "transactions")
_LONGEST = 5


def horizon_text(recording: HorizonRecording) -> str:
    """The distribution by kind of holder, and the longest holds."""
    lines = [
        f"horizon of {recording.database}, PostgreSQL {recording.server_version}, "
        f"{duration_words(recording.duration_s)} in {count(recording.samples, 'sample')}",
        f"  passed     {count(recording.transactions, 'transaction')}",
    ]
    if recording.missed:
        lines.append(f"  missed     {count(recording.missed, 'sample')} had no answer")
    if not recording.holds:
        lines.append(f"  held       by nobody for {duration_words(recording.every_s)} or longer")
        return "\n".join(lines)
    lines.extend(_table([HEADS, *distribution_rows(recording)]))
    lines.append("longest holds")
    lines.extend(f"  {words}" for words in longest_words(recording))
    return "\n".join(lines)


def distribution_rows(recording: HorizonRecording) -> list[tuple[str, ...]]:
    """A row for all holds and one for each kind, under ``HEADS``."""
    return [_row(distribution) for distribution in distributions(recording)]


def _row(one: HoldDistribution) -> tuple[str, ...]:
    return (
        KIND_WORDS.get(one.kind, one.kind),
        f"{one.holds:,}",
        percent(one.held_share),
        duration_words(one.held_s_p50),
        duration_words(one.held_s_p90),
        duration_words(one.held_s_p99),
        duration_words(one.held_s_max),
        f"{one.age_transactions_max:,}",
    )


def longest_words(recording: HorizonRecording) -> list[str]:
    """The longest holds, one line each."""
    longest = sorted(recording.holds, key=lambda hold: hold.held_s, reverse=True)[:_LONGEST]
    return [hold_words(hold) for hold in longest]


def hold_words(hold: HorizonHold) -> str:
    """42 min, idle in transaction (report), 81,000 transactions behind."""
    at = "before the start" if hold.began_s < 0 else f"at {duration_words(hold.began_s)}"
    end = ", still held at the end" if hold.lasts else ""
    only = ", system catalogs only" if hold.catalog_only else ""
    kind = KIND_WORDS.get(hold.kind, hold.kind)
    return (
        f"{duration_words(hold.held_s)}, {kind} ({hold.holder}), "
        f"{count(hold.age_transactions, 'transaction')} behind, began {at}{end}{only}"
    )


def point_words(point: HorizonPoint) -> str:
    """What was seen at one moment."""
    if point.kind is None:
        return "nobody holds the horizon"
    kind = KIND_WORDS.get(point.kind, point.kind)
    return f"held for {duration_words(point.held_s)} ({kind}), {count(point.age_transactions, 'transaction')} behind"


def duration_words(seconds: float) -> str:
    """8.5 µs, 450 ms, 42.1 s, 3.5 min, 2.2 h: the unit that leaves a figure one can read."""
    if seconds <= 0:
        return "0 s"
    if seconds < 0.001:
        return f"{_plain(seconds * 1e6)} µs"
    if seconds < 1:
        return f"{_plain(seconds * 1000)} ms"
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{_plain(seconds / size)} {unit}"
    return f"{_plain(seconds)} s"


def _plain(value: float) -> str:
    return number(value).removesuffix(".0")


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
