"""Partitioned tables with the tables at their leaves, and how often statements visit those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import SYSTEM_SCHEMAS, Case, Statement, Table, words_of

#: Statements that read or change rows; the others name a table and scan none of it.
_SCANNING = ("select", "update", "delete", "with", "merge", "table")


@dataclass(frozen=True)
class PartitionTree:
    """A partitioned table that is no partition itself, and all partitions below it that have rows of their own."""

    root: Table
    leaves: tuple[Table, ...]

    @property
    def live(self) -> float:
        return sum(leaf.live for leaf in self.leaves)

    @property
    def key(self) -> frozenset[str]:
        return frozenset(column.lower() for column in self.root.state.partition_columns)


def partition_trees(case: Case) -> Iterator[PartitionTree]:
    children: dict[int, list[Table]] = {}
    for table in case.all_tables.values():
        if table.state.is_partition and table.state.parent_oid is not None:
            children.setdefault(table.state.parent_oid, []).append(table)
    for table in case.all_tables.values():
        if table.state.kind == "p" and not table.state.is_partition and table.state.schema not in SYSTEM_SCHEMAS:
            yield PartitionTree(root=table, leaves=tuple(_leaves(table, children)))


def _leaves(table: Table, children: dict[int, list[Table]]) -> Iterator[Table]:
    for one in children.get(table.state.oid, ()):
        if one.state.kind == "p":
            yield from _leaves(one, children)
        else:
            yield one


def scans(case: Case, tree: PartitionTree) -> float:
    """Scans of all leaves together: of the observation where it saw any, else since statistics were reset."""
    grown = sum(
        case.table_change(leaf.state.oid, "sequential_scans") + case.table_change(leaf.state.oid, "index_scans")
        for leaf in tree.leaves
    )
    if grown:
        return grown
    counted = [leaf.counters for leaf in tree.leaves if leaf.counters is not None]
    return float(sum(counters.sequential_scans + (counters.index_scans or 0) for counters in counted))


def calls(case: Case, tree: PartitionTree, *, with_key: bool) -> dict[int, tuple[Statement, float]]:
    """Statements that name the partitioned table, with or without its key, and how often each ran; as for ``scans``.

    A statement with a column of the key may be pruned; whether it is cannot be seen in its text.
    """
    observed = any(case.table_change(leaf.state.oid, "sequential_scans") for leaf in tree.leaves) or any(
        case.table_change(leaf.state.oid, "index_scans") for leaf in tree.leaves
    )
    before = _calls_before(case) if observed else {}
    found: dict[int, tuple[Statement, float]] = {}
    for statement in case.statements_on(tree.root):
        if not statement.text.lstrip(" (\n\t").lower().startswith(_SCANNING):
            continue
        if bool(words_of(statement.text) & tree.key) is not with_key:
            continue
        own = statement.counters
        count = own.calls - before.get((own.query_id, own.user, own.is_top_level), 0)
        found[statement.query_id] = (statement, max(count, 0) + found.get(statement.query_id, (statement, 0.0))[1])
    return found


def _calls_before(case: Case) -> dict[tuple[int, str, bool], int]:
    before = case.snapshot.counters_before
    if before is None:
        return {}
    return {
        (statement.query_id, statement.user, statement.is_top_level): statement.calls for statement in before.statements
    }
