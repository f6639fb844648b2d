"""What a twin says of its original, in words."""

from __future__ import annotations

from pgclinic.model.transport import Transport
from pgclinic.model.verdict import Interval
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.words.figures import count, percent, ratio, span, times


def server_time_words(seen: Transport) -> str:
    """The server time of the original's workload is 0.042x with b, 95 % CI 0.038 to 0.047, 8 blocks."""
    so_far = "so far " if seen.word is CompareWord.INCONCLUSIVE else ""
    return f"{so_far}b takes {times(seen.ratio)} the {_time(seen)} of a for the original's workload, {_bounds(seen)}"


def short_server_time_words(seen: Transport) -> str:
    """The same in a few words: 0.042x the server time, 95 % CI 0.038 to 0.047, 8 blocks."""
    return f"{times(seen.ratio)} the {_time(seen)}, {_bounds(seen)}"


def _time(seen: Transport) -> str:
    return "server time" if seen.by_server else "statement time"


def _bounds(seen: Transport) -> str:
    bounds = "no CI yet"
    if seen.low is not None and seen.high is not None:
        bounds = f"95 % CI {span((seen.low, seen.high))}"
    return f"{bounds}, {count(seen.blocks, 'block')}"


def closed_loop_words(seen: Transport, tps: Interval | None) -> str | None:
    """What the twin's own throughput did, which depends on the number of sessions."""
    if tps is None:
        return None
    loop = f"closed loop, {count(seen.sessions, 'session')}"
    if not seen.tps_counts:
        return f"{loop}: not compared, as the twin's commits per statement are not those of the original"
    bounds = f", 95 % CI {span((tps.low, tps.high))}" if tps.low is not None and tps.high is not None else ""
    return f"{loop}: b has {ratio(tps.ratio)}x the transactions/s of a{bounds}"


def outside_words(seen: Transport) -> str | None:
    """2 statements with 0.2 % of the time are not reproduced: taken for 0 to 10 times as long, or up to 1.5 times."""
    parts = []
    if seen.outside:
        verb = "is" if seen.outside == 1 else "are"
        parts.append(
            f"{count(seen.outside, 'statement')} with {percent(seen.outside_share)} of the original's time {verb} not "
            "reproduced by the twin; the CI allows for 0 to 10 times their time, or 1.5 times where plans gain"
        )
    if seen.rough:
        parts.append(
            f"the twin's rows or buffers of {count(seen.rough, 'statement')} with {percent(seen.rough_share)} of the "
            "time differ from the original's; the CI allows for the square of what is beyond the tolerance"
        )
    return "; ".join(parts) or None
