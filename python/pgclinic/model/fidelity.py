"""How alike a twin is to its original: one figure for each property, and one row for each statement."""

from __future__ import annotations

import math
from enum import Enum

from pgclinic.model.record import Record
from pgclinic.model.twin_refusal import RefusedObject

#: Rows and blocks per call that differ by a smaller factor are alike.
TOLERANCE = 1.5
#: Half a row or block more or less is no difference.
_SMOOTHING = 0.5


def factor_between(one: float, other: float) -> float:
    """How many times one count per call is the other, 1 or more whichever is larger."""
    return math.exp(abs(math.log((one + _SMOOTHING) / (other + _SMOOTHING))))


class FigureName(str, Enum):
    """What is compared.

    columns: nulls, width and most common value. distinct, correlation: of columns. heap_pages, index_pages. calls: the
    share of the calls that can run. errors: the share of the transactions that failed. plans, plan_calls: statements
    with the same custom plan, and their share of the calls. generic_plans. blocks, rows: statements within 1.5x of the
    original's blocks and rows per call. commits: how far the commits per statement are off.
    """

    COLUMNS = "columns"
    DISTINCT = "distinct"
    CORRELATION = "correlation"
    HEAP_PAGES = "heap_pages"
    INDEX_PAGES = "index_pages"
    CALLS = "calls"
    ERRORS = "errors"
    PLANS = "plans"
    PLAN_CALLS = "plan_calls"
    GENERIC_PLANS = "generic_plans"
    BLOCKS = "blocks"
    ROWS = "rows"
    COMMITS = "commits"


class Figure(Record):
    """One property. ``share`` is what was reached, from 0 to 1; ``demanded`` what is demanded, None if nothing is.

    ``within`` of ``of`` are in tolerance, where things were counted; ``outside`` names the others. Of ``errors`` and
    ``commits`` less is better.
    """

    name: FigureName
    share: float
    demanded: float | None = None
    within: int | None = None
    of: int | None = None
    outside: tuple[str, ...] = ()

    @property
    def is_reached(self) -> bool:
        if self.demanded is None:
            return True
        if self.name in (FigureName.ERRORS, FigureName.COMMITS):
            return self.share <= self.demanded
        return self.share >= self.demanded


class StatementFidelity(Record):
    """One statement. Shares are from 0 to 1 of the original's; rows, blocks and ms are per call.

    Plans are None where they were not compared. The twin's counts are None for a statement that was not seen to run.
    ``fingerprints`` are those of the texts by which the twin's load sends it. ``unchanged`` is whether it was tried on
    the twin with the change that is compared and without it, and had the same plan and buffers. ``tried_ratio`` is what
    it then took with the change in place of 1 without, the largest of buffers, WAL and time; None if it was not tried.
    """

    query_id: int
    text: str
    calls_share: float
    time_share: float
    rows: float
    blocks: float
    ms: float
    twin_rows: float | None = None
    twin_blocks: float | None = None
    twin_ms: float | None = None
    same_plan: bool | None = None
    same_generic_plan: bool | None = None
    plan: str | None = None
    twin_plan: str | None = None
    is_within: bool = False
    fingerprints: tuple[str, ...] = ()
    unchanged: bool = False
    tried_ratio: float | None = None

    @property
    def deviation(self) -> float | None:
        """The factor between the rows or the blocks per call of both sides, whichever is larger.

        None for a statement that was not seen to run on the twin.
        """
        if self.twin_rows is None or self.twin_blocks is None:
            return None
        return max(factor_between(self.rows, self.twin_rows), factor_between(self.blocks, self.twin_blocks))


class OmittedStatement(Record):
    """A statement that the twin does not run. Shares from 0 to 1; ``tried_ratio`` as in StatementFidelity."""

    query_id: int
    text: str
    reason: str
    detail: str
    calls_share: float
    time_share: float
    tried_ratio: float | None = None


class Fidelity(Record):
    """All that was compared.

    ``judges_throughput`` says that transactions are grouped within tolerance; without that nothing is said about
    throughput, locks and commits. ``transactions`` is how many kinds of transactions of several statements there are.
    ``refused`` is what of the file was not made, as no capture writes it.
    """

    figures: tuple[Figure, ...]
    statements: tuple[StatementFidelity, ...]
    omitted: tuple[OmittedStatement, ...]
    judges_throughput: bool
    transactions: int
    twin_tps: float | None = None
    original_tps: float | None = None
    not_masked: tuple[str, ...] = ()
    refused: tuple[RefusedObject, ...] = ()
    format: int = 1

    @property
    def is_reached(self) -> bool:
        return all(figure.is_reached for figure in self.figures)
