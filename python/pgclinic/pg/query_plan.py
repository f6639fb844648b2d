"""Plans of EXPLAIN and of auto_explain, as text or as JSON, read into nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from pgclinic.model.query_plan import PlanNode
from pgclinic.sql.fingerprint import without_constants
from pgclinic.sql.quoting import unquoted

_NODE = re.compile(
    r"^(?P<indent> *)(?:->  )?(?P<title>\S.*?)  \(cost=[\d.]+\.\.(?P<cost>[\d.]+) rows=(?P<planned>\d+) width=\d+\)"
    r"(?: \((?:actual (?:time=[\d.]+\.\.(?P<time>[\d.]+) )?rows=(?P<rows>[\d.]+) loops=(?P<loops>\d+)"
    r"|never executed)\))?\s*$"
)
_NAME = r'(?:"(?:[^"]|"")+"|[^\s".]+)'
_TITLE = re.compile(
    rf"^(?P<kind>.*?)(?: using (?P<index>{_NAME}))?"
    rf"(?: on (?P<relation>{_NAME}(?:\.{_NAME})?)(?: (?P<alias>{_NAME}))?)?$"
)
_PROPERTY = re.compile(r"^ *(?P<name>[A-Z][A-Za-z- ]*?): (?P<value>.*)$")
_CONDITIONS = ("Filter", "Join Filter", "Hash Cond", "Merge Cond")
_LOOKUPS = ("Index Cond", "Recheck Cond", "TID Cond")
_REMOVED = ("Rows Removed by Filter", "Rows Removed by Join Filter")
_DISK = re.compile(r"Disk(?: Usage)?: (\d+)kB")
_BUFFERS = re.compile(r"(?:hit|read)=(\d+)")
_TEMPORARY = re.compile(r"temp .*?written=(\d+)")
#: In JSON; what the text format has behind ``Buffers:``.
_VISITED = (
    *("Shared Hit Blocks", "Shared Read Blocks", "Local Hit Blocks", "Local Read Blocks"),
    *("Temp Read Blocks", "Temp Written Blocks"),
)
#: What follows the nodes is of the whole statement.
_BEHIND = ("Planning:", "Planning Time:", "Settings:", "JIT:", "Trigger ", "Execution Time:")
_NEVER = 0.0


def nodes_of_text(plan: str) -> tuple[PlanNode, ...]:
    """From the text format; a plan that is none has no nodes."""
    nodes: list[PlanNode] = []
    indents: list[int] = []
    for line in plan.splitlines():
        match = _NODE.match(line.expandtabs())
        if match is not None:
            indent = len(match["indent"])
            while indents and indents[-1] >= indent:
                indents.pop()
            indents.append(indent)
            nodes.append(_node(match, len(indents) - 1))
        elif line.strip().startswith(_BEHIND):
            break
        elif nodes:
            nodes[-1] = _with_line(nodes[-1], line)
    return tuple(nodes)


def _node(match: re.Match[str], depth: int) -> PlanNode:
    title = _TITLE.match(match["title"])
    kind, relation, alias, index = (
        (title["kind"], title["relation"], title["alias"], title["index"])
        if title is not None
        else (match["title"], None, None, None)
    )
    if kind == "Bitmap Index Scan":
        relation, index = None, relation
    ran = "never executed" not in match[0]
    return PlanNode(
        depth=depth,
        kind=kind,
        rows_planned=float(match["planned"]),
        relation=_unqualified(relation),
        alias=unquoted(alias) if alias is not None else _unqualified(relation),
        index=_unqualified(index),
        rows=float(match["rows"]) if match["rows"] is not None else None if ran else _NEVER,
        loops=float(match["loops"]) if match["loops"] is not None else None if ran else _NEVER,
        cost=float(match["cost"]),
        time_ms=float(match["time"]) if match["time"] is not None else None,
    )


def _with_line(node: PlanNode, line: str) -> PlanNode:
    disk = _DISK.search(line)
    if disk is not None:
        return replace(node, disk_bytes=(node.disk_bytes or 0) + int(disk[1]) * 1024)
    match = _PROPERTY.match(line)
    if match is not None and match["name"] == "Buffers" and node.buffers is None:
        return replace(node, buffers=_visited(match["value"]))
    return _with_property(node, match["name"], match["value"]) if match is not None else node


def _visited(words: str) -> float:
    """shared hit=12 read=3 dirtied=1, temp read=5 written=5 are 25."""
    return float(sum(map(int, _BUFFERS.findall(words))) + sum(map(int, _TEMPORARY.findall(words))))


def _with_property(node: PlanNode, name: str, value: str) -> PlanNode:
    if name in _CONDITIONS:
        shown = without_constants(value)
        return replace(node, condition=shown if node.condition is None else f"{node.condition} AND {shown}")
    if name in _LOOKUPS and node.lookup is None:
        return replace(node, lookup=without_constants(value))
    if name in _REMOVED:
        return replace(node, rows_removed=(node.rows_removed or 0.0) + float(value))
    return node


def nodes_of_json(plan: Mapping[str, Any]) -> tuple[PlanNode, ...]:
    """From the object behind ``Plan`` in the JSON format."""
    return tuple(_walked(plan, 0))


def nodes_of_json_text(text: str) -> tuple[PlanNode, ...]:
    """From the whole document, an object or a list with one; what is no plan has no nodes."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ()
    whole = found[0] if isinstance(found, list) and found else found
    plan = whole.get("Plan") if isinstance(whole, dict) else None
    return nodes_of_json(plan) if isinstance(plan, dict) else ()


def _walked(plan: Mapping[str, Any], depth: int) -> Iterator[PlanNode]:
    yield _json_node(plan, depth)
    for child in plan.get("Plans", ()):
        yield from _walked(child, depth + 1)


def _json_node(plan: Mapping[str, Any], depth: int) -> PlanNode:
    kind = str(plan.get("Node Type", ""))
    disk_kb = plan.get("Disk Usage", plan.get("Sort Space Used", 0) if plan.get("Sort Space Type") == "Disk" else 0)
    node = PlanNode(
        depth=depth,
        kind=f"Parallel {kind}" if plan.get("Parallel Aware") else kind,
        rows_planned=float(plan.get("Plan Rows", 0)),
        relation=plan.get("Relation Name"),
        alias=plan.get("Alias"),
        index=plan.get("Index Name"),
        rows=_number(plan.get("Actual Rows")),
        loops=_number(plan.get("Actual Loops")),
        disk_bytes=int(disk_kb) * 1024 or None,
        buffers=sum(float(plan[name]) for name in _VISITED if name in plan) if _VISITED[0] in plan else None,
        cost=_number(plan.get("Total Cost")),
        time_ms=_number(plan.get("Actual Total Time")),
    )
    for name in (*_CONDITIONS, *_LOOKUPS, *_REMOVED):
        if name in plan:
            node = _with_property(node, name, str(plan[name]))
    return node


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _unqualified(name: str | None) -> str | None:
    """The last part of a name, quotes taken off."""
    if name is None:
        return None
    parts = re.findall(_NAME, name)
    return unquoted(parts[-1]) if parts else name
