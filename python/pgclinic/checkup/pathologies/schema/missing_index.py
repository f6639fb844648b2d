"""A statement reads a whole table, or what an index finds by some of its columns, and throws most of it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.index_upkeep import create_index
from pgclinic.checkup.pathologies.schema.index_candidates import IndexCandidate, for_all, index_candidates
from pgclinic.checkup.pathologies.schema.index_leads import IndexLead, index_leads
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.saved_reads import together
from pgclinic.checkup.table_access import index_evidence, pages_of, table_evidence
from pgclinic.checkup.workload import (
    SAVED,
    Work,
    saved_share,
    severity_of,
    statement_evidence,
    time_claim,
    time_cost,
)
from pgclinic.indexes.keys import Groups, columns_of, combined
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Treatment, Unit
from pgclinic.sql.quoting import identifier

_CANDIDATES_NAMED = 3
#: More make an index so large that two are better.
_COLUMNS_MAX = 4


@dataclass(frozen=True)
class _Missed:
    """An index that statements miss; one that is on more columns than one of them needs serves several."""

    groups: Groups
    leads: tuple[IndexLead, ...]

    @property
    def table(self) -> Table:
        return self.leads[0].table

    @property
    def columns(self) -> tuple[str, ...]:
        return columns_of(self.groups)

    @property
    def works(self) -> tuple[Work, ...]:
        return tuple({lead.work.query_id: lead.work for lead in self.leads}.values())

    @property
    def saved(self) -> Mapping[int, float]:
        """The part of each statement's time."""
        found: dict[int, list[IndexLead]] = {}
        for lead in self.leads:
            found.setdefault(lead.work.query_id, []).append(lead)
        return {key: together(lead.saving for lead in leads).part for key, leads in found.items()}


def _detect(case: Case) -> Iterator[Seen]:
    missed = _missed(index_leads(case))
    candidates = index_candidates(case) if missed else ()
    for one in missed:
        table = one.table
        yield Seen(
            subject=f"{table.name} ({', '.join(one.columns)})",
            severity=severity_of(case, one.works, one.saved),
            confidence=_confidence(case, one),
            evidence=(
                table_evidence(table, Fact(name="pages", value=pages_of(case, table), unit=Unit.BUFFERS)),
                *_narrow_indexes(one.leads),
                *(_evidence(case, lead) for lead in {lead.work.query_id: lead for lead in one.leads}.values()),
            ),
            tables=(table.name,),
            cost=time_cost(case, one.works, one.saved),
            claim=time_claim(one.works, one.saved),
            treatments=_treatments(case, candidates, one),
        )


def _missed(leads: Iterable[IndexLead]) -> tuple[_Missed, ...]:
    """One for all leads of the same columns, or that one index serves; the ones with fewer columns first."""
    same: dict[tuple[int, frozenset[str], tuple[str, ...]], list[IndexLead]] = {}
    for lead in leads:
        same.setdefault((lead.table.state.oid, frozenset(lead.columns), lead.tail), []).append(lead)
    found: list[_Missed] = []
    for those in sorted(same.values(), key=lambda one: len(one[0].columns)):
        for at, known in enumerate(found):
            groups = _for_both(known, those[0]) if known.table.state.oid == those[0].table.state.oid else None
            if groups is not None:
                found[at] = _Missed(groups, (*known.leads, *those))
                break
        else:
            found.append(_Missed(_groups(those[0], those[0].columns), tuple(those)))
    return tuple(found)


def _for_both(known: _Missed, lead: IndexLead) -> Groups | None:
    """One index for what is known and for this; further columns that a statement compares may stand among the first."""
    first = known.leads[0]
    ours = [known.groups, *([_groups(first, first.equal)] if len(known.leads) == 1 else [])]
    theirs = [_groups(lead, lead.columns), _groups(lead, lead.equal)]
    made = [found for lead in ours for other in theirs if (found := combined(lead, other)) is not None]
    short = [one for one in made if len(columns_of(one)) <= _COLUMNS_MAX]
    return min(short, key=lambda one: len(columns_of(one)), default=None)


def _groups(lead: IndexLead, columns: tuple[str, ...]) -> Groups:
    return tuple(group for group in (columns, *((name,) for name in lead.tail)) if group)


def _confidence(case: Case, missed: _Missed) -> Confidence:
    """A guess where most of what is claimed is one."""
    whole = saved_share(case, missed.works, missed.saved)
    guessed = {lead.work.query_id for lead in missed.leads if lead.is_guess}
    if saved_share(case, missed.works, {key: part for key, part in missed.saved.items() if key in guessed}) > whole / 2:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if all(lead.was_seen for lead in missed.leads) else Confidence.LIKELY


def _evidence(case: Case, lead: IndexLead) -> Evidence:
    narrow = lead.narrow
    return statement_evidence(
        case,
        lead.work,
        Fact(name="buffers each call", value=lead.work.buffers_per_call, unit=Unit.BUFFERS),
        Fact(name="rows each call", value=lead.work.rows_per_call, unit=Unit.ROWS),
        *(lead.scan.facts() if lead.scan is not None else ()),
        *((Fact(name="rows that the index finds", value=narrow.found, unit=Unit.ROWS),) if narrow is not None else ()),
        *((Fact(name="scanned in", value="a function that it calls"),) if lead.function else ()),
        Fact(name=SAVED, value=lead.saving.part, unit=Unit.SHARE),
    )


def _narrow_indexes(leads: Sequence[IndexLead]) -> Iterator[Evidence]:
    """The indexes that statements use by their leading columns."""
    found = {lead.narrow.index.state.oid: lead.narrow for lead in leads if lead.narrow is not None}
    for index in found.values():
        yield index_evidence(index.index, Fact(name="used by", value=", ".join(index.leading)))


def _treatments(case: Case, candidates: Iterable[IndexCandidate], missed: _Missed) -> tuple[Treatment, ...]:
    """Indexes that fit the whole statements, their ranges and their order among it; else one on the columns alone."""
    table, columns = missed.table, missed.columns
    query_ids = {work.query_id for work in missed.works}
    first = {identifier(one) for one in missed.groups[0]}
    fitting = [
        candidate
        for candidate in candidates
        if candidate.table.state.oid == table.state.oid
        and query_ids & set(candidate.query_ids)
        and candidate.keys[0] in first
    ]
    best = _for_all(case, fitting, missed)
    if best is None:
        return (create_index(table, columns, title=f"create an index on {', '.join(columns)}"),)
    chosen = (best, *(one for one in fitting if one.keys != best.keys))
    return tuple(one.treatment() for one in chosen[:_CANDIDATES_NAMED])


def _for_all(case: Case, fitting: Sequence[IndexCandidate], missed: _Missed) -> IndexCandidate | None:
    """The most complete one of each statement, and the columns of the finding, put together as far as that goes."""
    each = [
        next((candidate for candidate in fitting if work.query_id in candidate.query_ids), None)
        for work in missed.works
    ]
    found = list(dict.fromkeys(candidate for candidate in each if candidate is not None))
    groups = tuple(tuple(identifier(name) for name in group) for group in missed.groups)
    query_ids = tuple(work.query_id for work in missed.works)
    return for_all(case, (*found, IndexCandidate(missed.table, "btree", groups, query_ids, 0.0))) if found else None


PATHOLOGY = Pathology(
    name="missing-index",
    title="missing index, most rows read are thrown away",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="No index begins with a column by which the statement looks for rows, so each call reads every row of "
    "the table; or one has only some of the columns, and each call reads all rows that these find. The time grows with "
    "the table, where that of an index lookup stays at three or four buffers.",
    threshold="A table below 50 pages is read in a fraction of a millisecond, and where more than one row in twenty "
    "matches, most pages have to be read by way of an index as well. An index has too few columns where more than "
    "nineteen of twenty rows that it finds, and 500 or more, are not wanted.",
    references=(
        "https://www.postgresql.org/docs/current/indexes-intro.html",
        "https://www.postgresql.org/docs/current/indexes-multicolumn.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates", "table-scanned-in-a-loop", "shared-buffers-small"),
    needs=("counters.statements", "statement_texts", "tables", "indexes"),
    proof=ProofOn.TWIN,
)
