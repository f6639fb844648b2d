"""Keys of a study file that had another name in earlier versions; files and runs with them stay readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pgclinic.errors import StudyFileError
from pgclinic.study.toml_lines import Where, inside

#: Table, earlier key, present key; a star stands for every table inside.
_RENAMED = (
    (("workload",), "gauges", "custom_metrics"),
    (("profiles", "*"), "prelude_s", "calibration_s"),
)


def with_present_names(raw: dict[str, Any], where: Where) -> dict[str, Any]:
    """The document with the present keys. Raises StudyFileError for a table that has both names of one."""
    for path, earlier, present in _RENAMED:
        for names, table in _tables(raw, path, ()):
            if earlier in table and present in table:
                name = ".".join(names)
                raise StudyFileError(
                    f"{inside(where, *names, earlier)}: {name}.{earlier} is the earlier name of {name}.{present}; "
                    "give only one of them"
                )
        raw = _renamed(raw, path, earlier, present)
    return raw


def _tables(
    raw: object, path: tuple[str, ...], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every table of that path with its name; what has another shape is left for the reader to refuse."""
    if not isinstance(raw, dict):
        return
    if not path:
        yield above, raw
        return
    for key in raw if path[0] == "*" else (path[0],):
        yield from _tables(raw.get(key), path[1:], (*above, key))


def _renamed(raw: Any, path: tuple[str, ...], earlier: str, present: str) -> Any:
    """The document with one key renamed; order is kept, and what need not change is not copied."""
    if not isinstance(raw, dict):
        return raw
    if not path:
        return {present if key == earlier else key: value for key, value in raw.items()}
    inner = raw if path[0] == "*" else {path[0]: raw[path[0]]} if path[0] in raw else {}
    return raw | {key: _renamed(value, path[1:], earlier, present) for key, value in inner.items()}
