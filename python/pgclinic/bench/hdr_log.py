"""Histograms as an HDR histogram log, a text that every HDR tool reads: a line a second, tagged with the script."""

from __future__ import annotations

from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.model.load import LoadResult

_MS_PER_UNIT = 1000.0


def hdr_log_text(load: LoadResult) -> str:
    """A line for every second of every script, under its name as a tag, then the generator's lag.

    Values inside the histograms are microseconds; the column of the highest value is in ms, as the header says.
    """
    start_s = load.started_epoch_us / 1e6
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch)]",
        f"#[MaxValueDivisor: {_MS_PER_UNIT:.1f}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    lines += [
        _line(second.script, float(second.second), 1.0, second.latency_us_max, second.hdr)
        for second in load.seconds
        if second.hdr is not None
    ]
    if load.lag is not None:
        lines.append(_line("generator lag", 0.0, load.measured_s, load.lag.max_us, load.lag.hdr))
    return "\n".join(lines) + "\n"


def write_hdr_log(path: Path, load: LoadResult) -> None:
    """Raises UsageError when the file cannot be written."""
    try:
        path.write_text(hdr_log_text(load), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--hdr: cannot write {path}: {error.strerror}") from error


def _line(tag: str, start_s: float, length_s: float, max_us: int, hdr: str) -> str:
    # A tag ends at the first comma, and must not hold spaces or line ends.
    name = "".join("_" if char in ", \t\r\n" else char for char in tag)
    return f"Tag={name},{start_s:.3f},{length_s:.3f},{max_us / _MS_PER_UNIT:.3f},{hdr}"
