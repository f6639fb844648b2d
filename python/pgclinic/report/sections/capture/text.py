"""What a capture took, what it could not read, and what it masked: on the terminal and as the file MASKED.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pgclinic.model.twin import Gap, Mask, MaskMethod, Twin

_NAMES_SHOWN = 4
_METHODS = {
    MaskMethod.TRIE: "other texts of the same order, prefixes and form",
    MaskMethod.CODES: "random codes",
    MaskMethod.MONOTONE: "moved less than half-way to the next known value",
    MaskMethod.JSON: "strings and numbers masked as in columns, keys kept",
    MaskMethod.DROPPED: "values removed, shares kept",
    MaskMethod.NONE: "as they are",
}
_PROBLEMS = {
    "locked": "another session had locked them, or waited to; capture again for these",
}
_REASONS = {
    "": "",
    "enum": "labels are part of the schema",
    "boolean": "true and false",
    "duration": "durations",
    "key": "whole numbers of a key",
    "type": "no mask for this type",
    "expression": "computed again from the rows",
    "time zone": "names of time zones",
    "dense": "no other value between the known ones",
    "schema literal": "constants of the schema",
}


def twin_summary(twin: Twin, path: Path) -> dict[str, Any]:
    """The figures of a capture, as JSON."""
    columns = [column for table in twin.tables for column in table.columns]
    return {
        "file": str(path),
        "version": twin.version,
        "database": twin.database,
        "capture_s": twin.capture_s,
        "tables": len(twin.tables),
        "columns": len(columns),
        "columns_with_statistics": sum(column.statistics is not None for column in columns),
        "objects": len(twin.objects),
        "statements": len(twin.workload.statements),
        "masked": twin.masked,
        "not_masked": [f"{mask.table}.{mask.column}" for mask in twin.masks if mask.method is MaskMethod.NONE],
        "gaps": twin.gaps,
    }


def twin_text(twin: Twin, path: Path) -> str:
    """The same for people: one line for each thing that was taken, then the gaps with what would help."""
    figures = twin_summary(twin, path)
    lines = [
        f"{path}   PostgreSQL {twin.version}, database {twin.database}, captured in {twin.capture_s:.1f} s",
        f"  schema      {figures['objects']} objects, {figures['tables']} tables",
        f"  statistics  {figures['columns_with_statistics']} of {figures['columns']} columns",
    ]
    if twin.workload.statements:
        lines.append(f"  workload    {figures['statements']} statements")
    lines.append(f"  values      {_values_line(twin)}")
    lines += [line for gap in twin.gaps for line in _gap_lines(gap)]
    return "\n".join(lines)


def _values_line(twin: Twin) -> str:
    if not twin.masked:
        return "as they are in the database: keep this file as safe as the data"
    kept = [mask for mask in twin.masks if mask.method is MaskMethod.NONE and mask.values]
    partly = sum(mask.kept > 0 for mask in twin.masks if mask.method is not MaskMethod.NONE)
    return (
        f"masked in {len(twin.masks) - len(kept)} columns ({partly} of them in part), "
        f"not masked in {len(kept)}: MASKED.md in the file names them"
    )


def _gap_lines(gap: Gap) -> list[str]:
    where = f" of {_named(gap.tables)}" if gap.tables else ""
    lines = [f"  missing     {gap.what}{where}: {_PROBLEMS.get(gap.problem, gap.problem)}"]
    if gap.grant:
        lines.append(f"              would help: {gap.grant}")
    return lines


def _named(tables: tuple[str, ...]) -> str:
    more = len(tables) - _NAMES_SHOWN
    return ", ".join(tables[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def masked_text(twin: Twin) -> str:
    """MASKED.md: each column whose values the file has, and what was done to them."""
    lines = [f"# Values in the twin of {twin.database}", ""]
    if not twin.masked:
        lines += [
            "The values in the statistics are those of the database: it was captured with --with-values.",
            "Keep this file as safe as the data.",
            "",
        ]
        return "\n".join(lines)
    lines += [
        "The file has no row of the database. The statistics of a column name some of its values: the most common",
        "ones and up to some hundred more. They were masked as the table says. Names, keys of JSON, constants",
        "of the schema and texts of functions are kept, and so are lengths, counts and shares.",
        "",
        "| column | values | not masked | values became |",
        "|---|---:|---:|---|",
    ]
    lines += [_mask_row(mask) for mask in twin.masks]
    return "\n".join([*lines, ""])


def _mask_row(mask: Mask) -> str:
    reason = _REASONS.get(mask.reason, mask.reason)
    stayed = f"; {mask.kept} stayed: " if mask.kept and mask.method is not MaskMethod.NONE else ": "
    became = _METHODS[mask.method] + (stayed + reason if reason else "")
    name = f"{mask.table}.{mask.column}".replace("|", "\\|")
    return f"| {name} | {mask.values} | {mask.kept} | {became} |"
