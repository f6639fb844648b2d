"""What the pages of a table and its index look like inside at the end of a trial, the control beside the arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgclinic.model.pages import PageFacts
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.parts.table import PageTable
from pgclinic.report.words.figures import number, percent
from pgclinic.report.words.verdicts import claim_of
from pgclinic.samples.means import mean_known

_NONE = "-"
_Read = Callable[[PageFacts], float | None]


@dataclass(frozen=True)
class PagesView:
    """``missing`` says what could not be had and why."""

    table: PageTable
    missing: tuple[str, ...]


def _of_heap(facts: PageFacts, read: Callable[..., float]) -> float | None:
    return read(facts.heap) if facts.heap is not None and facts.heap.sampled_pages else None


def _dead_entries(facts: PageFacts) -> float | None:
    return facts.leaves.dead_entries / facts.leaves.entries if facts.leaves and facts.leaves.entries else None


def _all_visible(facts: PageFacts) -> float | None:
    return facts.visibility.all_visible_pages / facts.table_pages if facts.visibility and facts.table_pages else None


_ROWS: tuple[tuple[str, _Read, Callable[[float], str]], ...] = (
    ("pages of the table", lambda facts: facts.table_pages, number),
    ("pages of the index", lambda facts: facts.index_pages, number),
    (
        "row versions per sampled page",
        lambda facts: _of_heap(facts, lambda heap: heap.normal / heap.sampled_pages),
        number,
    ),
    (
        "dead line pointers per page",
        lambda facts: _of_heap(facts, lambda h: h.dead / h.sampled_pages),
        number,
    ),
    ("versions per HOT chain", lambda facts: facts.heap.hot_chain_mean if facts.heap else None, number),
    (
        "chains without a version visible to a new snapshot",
        lambda facts: _of_heap(facts, lambda h: h.dead_roots),
        number,
    ),
    ("index entries per key", lambda facts: facts.leaves.entries_per_key if facts.leaves else None, number),
    ("index entries marked dead", _dead_entries, percent),
    ("pages that are all-visible", _all_visible, percent),
)


def pages_view(study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> PagesView | None:
    """Means over the trials of the headline's two arms; None where no pages were looked into."""
    claim = claim_of(study, verdict.headline)
    arms = tuple(dict.fromkeys((claim.control, claim.arm)))
    seen = {arm: [t.pages for t in trials if t.spec.arm == arm and t.pages is not None] for arm in arms}
    if not all(seen.values()):
        return None
    rows = []
    for words, read, written in _ROWS:
        cells = [mean_known([read(facts) for facts in seen[arm]]) for arm in arms]
        if any(cell is not None for cell in cells):
            rows.append((words, *(written(cell) if cell is not None else _NONE for cell in cells)))
    first = seen[arms[0]][0]
    name = f"{first.table} and {first.index}" if first.index else first.table
    missing = {f"{one.part.replace('_', ' ')}: {one.reason}" for facts in seen[arms[-1]] for one in facts.missing}
    return PagesView(
        PageTable(f"Pages of {name} at the end of a trial", ("", *arms), tuple(rows)), tuple(sorted(missing))
    )
