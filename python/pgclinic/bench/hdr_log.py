"""Histograms as an HDR histogram log: a text that every HDR tool reads, one tagged line a script."""

from __future__ import annotations

from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.model.load import Histogram, LoadResult

_MS_PER_UNIT = 1000.0


def hdr_log_text(load: LoadResult) -> str:
    """All transactions first, then every script under its name as a tag, then the generator's lag.

    Values inside the histograms are microseconds; the column of the highest value is in ms, as the header says.
    """
    start_s = load.started_epoch_us / 1e6
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch)]",
        f"#[MaxValueDivisor: {_MS_PER_UNIT:.1f}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
        _line("", load.latency, load),
    ]
    lines += [_line(script.name, script.latency, load) for script in load.scripts]
    if load.lag is not None:
        lines.append(_line("generator lag", load.lag, load))
    return "\n".join(lines) + "\n"


def write_hdr_log(path: Path, load: LoadResult) -> None:
    """Raises UsageError when the file cannot be written."""
    try:
        path.write_text(hdr_log_text(load), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--hdr: cannot write {path}: {error.strerror}") from error


def _line(tag: str, histogram: Histogram, load: LoadResult) -> str:
    # A tag ends at the first comma, and must not hold spaces or line ends.
    name = "".join("_" if char in ", \t\r\n" else char for char in tag)
    head = f"Tag={name}," if name else ""
    return f"{head}0.000,{load.measured_s:.3f},{histogram.max_us / _MS_PER_UNIT:.3f},{histogram.hdr}"
