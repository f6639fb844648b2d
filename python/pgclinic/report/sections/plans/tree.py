"""A query plan as a tree: what each node is of, what it read, and the part of the whole that is its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pgclinic.model.query_plan import PlanNode
from pgclinic.report.words.figures import number, percent, size

#: From here on the planner's estimate of rows is pointed at.
MISJUDGED = 10.0
#: A node with less of the whole than this is not the one to look at.
_MOST_MIN = 0.3
_SHARE_MIN = 0.005
#: A larger or deeper plan is not drawn.
_NODES_MAX, _DEPTH_MAX = 400, 60
#: Nodes that keep the rows of their child: it is read once however often they are.
_KEEPING = ("Materialize", "Memoize")


@dataclass(frozen=True)
class TreeNode:
    """One node with the nodes below it.

    ``kind`` is what EXPLAIN calls it, ``of`` what it reads, empty for nothing. ``figures`` and ``notes`` are in words:
    rows, loops, buffers and time; conditions and what they removed. ``share`` is the part of the plan's measure that
    is of this node alone, 0 to 1; None where nobody counted. ``change`` is how it differs from the plan beside it,
    empty where it does not.
    """

    kind: str
    of: str
    figures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    share: float | None = None
    is_most: bool = False
    is_misjudged: bool = False
    change: str = ""
    below: tuple[TreeNode, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What two plans are compared by."""
        return self.kind, self.of

    @property
    def share_words(self) -> str:
        """Empty for a node with next to nothing of the whole."""
        return percent(self.share) if self.share is not None and self.share >= _SHARE_MIN else ""

    @property
    def width(self) -> str:
        """Of the bar, in CSS."""
        return f"{max(0.0, min(1.0, self.share or 0.0)) * 100:.1f}%"


@dataclass(frozen=True)
class PlanTree:
    """``measure`` is what the shares of nodes are of: time, buffers, estimated cost; empty where nothing is known."""

    top: TreeNode
    measure: str = ""

    @property
    def text(self) -> str:
        """A line for each node, indented below the one that reads it."""
        return "\n".join(_lines(self.top, self.measure, ""))


def _lines(node: TreeNode, measure: str, indent: str) -> Iterator[str]:
    share = (f"{node.share_words} of {measure}",) if node.share_words else ()
    figures = ", ".join((*share, *node.figures))
    change = f"  [{node.change}]" if node.change else ""
    yield f"{indent}{node.kind}{' ' if node.of else ''}{node.of}{f'  ({figures})' if figures else ''}{change}"
    for one in node.below:
        yield from _lines(one, measure, f"{indent}  ")


def nodes_in(top: TreeNode) -> Iterator[TreeNode]:
    """As EXPLAIN prints them."""
    yield top
    for one in top.below:
        yield from nodes_in(one)


def changed(top: TreeNode, changes: Sequence[str]) -> TreeNode:
    """The same tree with a change for each of its nodes, in the order of ``nodes_in``."""
    left = iter(changes)

    def one(node: TreeNode) -> TreeNode:
        own = next(left)
        return replace(node, change=own, below=tuple(map(one, node.below)))

    return one(top)


# --- from nodes with their depths


def tree_of(nodes: Sequence[PlanNode]) -> PlanTree | None:
    """None without a node, and of a plan that is too large to be drawn. The first is the top."""
    if not nodes or len(nodes) > _NODES_MAX or max(node.depth for node in nodes) > _DEPTH_MAX:
        return None
    below = _children(nodes)
    buffers, times_ms = _own(_buffers(nodes), below), _own(_times_ms(nodes), below)
    own = times_ms or buffers or _own(_costs(nodes, below), below) or []
    measure = "time" if times_ms else "buffers" if buffers else "estimated cost" if own else ""
    whole = sum(own)
    shares = [amount / whole if whole else None for amount in own] or [None] * len(nodes)
    most = max(range(len(nodes)), key=lambda at: shares[at] or 0.0)

    def one(at: int) -> TreeNode:
        node = nodes[at]
        return TreeNode(
            kind=node.kind,
            of=_of(node),
            figures=tuple(
                _figures(node, buffers[at] if buffers else None, times_ms[at] if times_ms and node.loops else None)
            ),
            notes=tuple(_notes(node)),
            share=shares[at],
            is_most=at == most and len(nodes) > 1 and (shares[at] or 0.0) >= _MOST_MIN,
            is_misjudged=_is_misjudged(node),
            below=tuple(one(child) for child in below[at]),
        )

    return PlanTree(top=one(0), measure=measure)


def _children(nodes: Sequence[PlanNode]) -> list[list[int]]:
    """For each node the places of those directly below it."""
    below: list[list[int]] = [[] for _ in nodes]
    open_at = [0]
    for at, node in enumerate(nodes[1:], start=1):
        while len(open_at) > 1 and nodes[open_at[-1]].depth >= node.depth:
            open_at.pop()
        below[open_at[-1]].append(at)
        open_at.append(at)
    return below


Amounts = list[float]


def _own(whole: Amounts | None, below: Sequence[Sequence[int]]) -> Amounts | None:
    """What is of each node alone, from what is of it and of all below it."""
    if whole is None:
        return None
    return [max(0.0, amount - sum(whole[child] for child in below[at])) for at, amount in enumerate(whole)]


def _times_ms(nodes: Sequence[PlanNode]) -> Amounts | None:
    """In all loops, those of parallel processes added up; None where a node that ran was not timed."""
    if any(node.time_ms is None and node.loops != 0 for node in nodes):
        return None
    return [(node.time_ms or 0.0) * (node.loops or 0.0) for node in nodes]


def _buffers(nodes: Sequence[PlanNode]) -> Amounts | None:
    return [node.buffers or 0.0 for node in nodes] if nodes[0].buffers is not None else None


def _costs(nodes: Sequence[PlanNode], below: Sequence[Sequence[int]]) -> Amounts | None:
    """The planner's cost of each node in all loops that it expects; that of a nested loop's inner side is of one."""
    if any(node.cost is None for node in nodes):
        return None
    costs = [node.cost or 0.0 for node in nodes]

    def scaled(at: int, by: float) -> None:
        costs[at] *= by
        inner = below[at][1:2] if nodes[at].kind.startswith("Nested Loop") else []
        for child in below[at]:
            scaled(child, by * (_loops_expected(nodes, at, below[at][0], child) if child in inner else 1.0))

    scaled(0, 1.0)
    return costs


def _loops_expected(nodes: Sequence[PlanNode], join: int, outer: int, inner: int) -> float:
    """How often a nested loop reads its inner side: once for each row of the outer one, as far as its cost allows."""
    own = nodes[inner].cost or 0.0
    if nodes[inner].kind in _KEEPING or not own:
        return 1.0
    rest = (nodes[join].cost or 0.0) - (nodes[outer].cost or 0.0)
    return max(1.0, min(nodes[outer].rows_planned, rest / own))


def _of(node: PlanNode) -> str:
    """using orders_pkey on orders o"""
    alias = f" {node.alias}" if node.alias and node.alias != node.relation else ""
    parts = [f"using {node.index}"] if node.index else []
    parts += [f"on {node.relation}{alias}"] if node.relation else []
    return " ".join(parts)


def _amount(value: float) -> str:
    """Counts are whole unless they are means."""
    return f"{value:,.0f}" if value == round(value) else number(value)


def _figures(node: PlanNode, own_buffers: float | None, own_ms: float | None) -> Iterator[str]:
    if node.loops == 0:
        yield "never executed"
        return
    planned = f"{_amount(node.rows_planned)} estimated"
    yield f"{_amount(node.rows)} rows ({planned})" if node.rows is not None else f"rows: {planned}"
    if node.loops is not None and node.loops != 1:
        yield f"{_amount(node.loops)} loops"
    if own_buffers:
        yield f"{_amount(own_buffers)} buffers"
    if own_ms is not None:
        yield f"{number(round(own_ms, 6))} ms" if own_ms >= 1 else f"{number(round(own_ms * 1000, 3))} µs"


def _notes(node: PlanNode) -> Iterator[str]:
    if node.lookup:
        yield f"index condition: {node.lookup}"
    if node.condition:
        yield f"condition: {node.condition}"
    if node.rows_removed:
        yield f"{_amount(node.rows_removed)} rows removed by conditions"
    if node.disk_bytes:
        yield f"{size(node.disk_bytes)} in temporary files"


def _is_misjudged(node: PlanNode) -> bool:
    if node.rows is None or not node.loops:
        return False
    few, many = sorted((max(node.rows, 1.0), max(node.rows_planned, 1.0)))
    return many / few >= MISJUDGED


# --- from what little an older record has


def tree_of_shape(shape: str) -> PlanTree | None:
    """From ``Limit(Sort(Seq Scan orders))``; None for a text whose brackets do not fit, or too large to be drawn."""
    if shape.count("(") > _DEPTH_MAX or shape.count(",") > _NODES_MAX:
        return None
    at = 0

    def one() -> TreeNode | None:
        nonlocal at
        start = at
        while at < len(shape) and shape[at] not in "(),":
            at += 1
        title, below = shape[start:at].strip(), []
        if at < len(shape) and shape[at] == "(":
            while at < len(shape) and shape[at] in "(,":
                at += 1
                child = one()
                if child is None:
                    return None
                below.append(child)
            if at >= len(shape) or shape[at] != ")":
                return None
            at += 1
        return TreeNode(kind=title, of="", below=tuple(below)) if title else None

    top = one()
    return PlanTree(top) if top is not None and at == len(shape) else None


def tree_of_names(names: Sequence[str]) -> PlanTree | None:
    """Of a plan of which only the names of nodes are kept, from the top: all others stand below the first."""
    if not names or len(names) > _NODES_MAX:
        return None
    return PlanTree(TreeNode(kind=names[0], of="", below=tuple(TreeNode(kind=name, of="") for name in names[1:])))
