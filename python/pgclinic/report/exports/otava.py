"""A comparison as CSV for Apache Otava: one row a comparison, so that rows of many runs make a series."""

from __future__ import annotations

import csv
import io

from pgclinic.model.compare import Comparison, Measure
from pgclinic.model.run import RunInfo
from pgclinic.report.parts.visible import visible

ATTRIBUTES = ("run", "a", "b", "word", "server_version")


def otava_csv(comparison: Comparison, run: RunInfo, *, folder: str, started: str) -> str:
    """Columns: time (ISO 8601), the attributes, then three metrics for each measure.

    The columns are always the same; a measure that was not seen leaves its cells empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    seen = {one.measure: one for one in comparison.measures}
    heads, cells = [], []
    for measure in Measure:
        one = seen.get(measure)
        name = measure.value.replace(".", "_")
        heads += [f"a_{name}", f"b_{name}", f"ratio_{name}"]
        cells += [_cell(one.a if one else None), _cell(one.b if one else None)]
        cells.append(_cell(one.interval.ratio if one and one.interval else None))
    version = comparison.server_version or run.server
    writer.writerow(["time", *ATTRIBUTES, *heads])
    writer.writerow([started, folder, comparison.a.about, comparison.b.about, comparison.word.value, version, *cells])
    return visible(out.getvalue())


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
