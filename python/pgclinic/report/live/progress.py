"""Where a run stands in words, and the plain line of a finished trial. Pure: records in, one line out."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.progress import Progress
from pgclinic.model.study import Counter
from pgclinic.model.trial import Probe, TrialOutcome, TrialRecord
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, number

_BARS = "▁▂▃▄▅▆▇█"
_SPARK_SECONDS = 12


def sparkline(values: Sequence[float], width: int = _SPARK_SECONDS) -> str:
    """The last ``width`` values as bars from zero to the highest of all, so that half the height is half the TPS."""
    top = max(values, default=0.0)
    if top <= 0:
        return _BARS[0] * min(len(values), width)
    return "".join(_BARS[min(7, max(0, round(value / top * 8) - 1))] for value in values[-width:])


def clock(seconds: float) -> str:
    """1:12, 0:05, 1:02:03."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def place_words(progress: Progress) -> str:
    """Which block it is, of how many: block 3 of 8, block 3 of at most 9; block 3 where nobody knows how many."""
    what = "A/A calibration" if progress.calibration else "block"
    if not progress.blocks:
        return f"{what} {progress.block}"
    # Trials that fail at once take less than any budget allows for.
    blocks = max(progress.block, progress.blocks)
    return f"{what} {progress.block} of {'at most ' if progress.at_most else ''}{blocks}"


def trial_line(record: TrialRecord, progress: Progress) -> str:
    """One finished trial, for a log that is no terminal. ``progress`` is its last moment."""
    head = f"{place_words(progress)}   {record.spec.arm}"
    if record.outcome is TrialOutcome.FAILED or record.load is None:
        return f"{head}   failed: {record.failure or 'no load'}"
    parts = [head, f"{number(record.load.tps)} TPS over {record.load.measured_s:.0f} s"]
    hits = record.counters.get(Counter.BUFFER_HITS_PER_TRANSACTION)
    if hits is not None:
        parts.append(f"{number(hits)} hits/txn")
    if record.probe is not None:
        parts.append(_probe_text(record.probe))
    parts.extend(f"doubt: {doubt_words(doubt).text}" for doubt in record.doubts)
    return "   ".join(parts)


def _probe_text(probe: Probe) -> str:
    """A probe that would take too long has a plan alone."""
    if probe.pages is not None:
        return f"probe {count(probe.pages, 'page')}"
    return f"probe planned, {count(probe.sequential_scans, 'sequential scan')}"
