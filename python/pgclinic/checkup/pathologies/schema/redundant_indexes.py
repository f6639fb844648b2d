"""An index whose columns are the first ones of another."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index
from pgclinic.checkup.index_upkeep import drop_index, severity_of_needless, space_cost
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.table_access import index_evidence
from pgclinic.model.finding import Area, Confidence, Role

#: A wider index that is so many times larger is read more slowly, and may not fit where the narrow one did.
SIZE_RATIO_MAX = 3.0


def _detect(case: Case) -> Iterator[Seen]:
    for table in case.tables:
        for narrow in table.indexes:
            wide = next((index for index in table.indexes if index is not narrow and _covers(index, narrow)), None)
            if wide is None:
                continue
            yield Seen(
                subject=f"{narrow.qualified} < {wide.state.name}",
                severity=severity_of_needless(case, table, (narrow,)),
                confidence=Confidence.LIKELY,
                evidence=(index_evidence(narrow), index_evidence(wide)),
                tables=(table.name,),
                cost=space_cost(case, table, (narrow,)),
                treatments=(
                    drop_index(
                        narrow,
                        title=f"drop {narrow.state.name}",
                        risk=f"{wide.state.name} answers the same questions, but is larger: statements that read much "
                        "of the index become slower",
                    ),
                ),
            )


def _covers(wide: Index, narrow: Index) -> bool:
    one, other = wide.state, narrow.state
    if any(
        index.method != "btree" or not index.is_valid or index.is_partial or index.has_expressions
        for index in (one, other)
    ):
        return False
    if other.is_unique or other.is_constraint or other.is_replica_identity or other.parent_oid is not None:
        return False
    if len(other.columns) >= len(one.columns) or not set(other.included) <= {*one.columns, *one.included}:
        return False
    if one.bytes and other.bytes and one.bytes > SIZE_RATIO_MAX * other.bytes:
        return False
    wide_keys, narrow_keys = _keys(wide), _keys(narrow)
    return bool(narrow_keys) and wide_keys[: len(narrow_keys)] == narrow_keys


def _keys(index: Index) -> list[tuple[str, ...]]:
    """Number, operator class, collation and order of each column of the key, from the signature."""
    state = index.state
    words = state.signature.split()[1:]
    count, stored = len(state.columns), len(state.included)
    if len(words) != 4 * count + stored:
        return []
    numbers, rest = words[:count], words[count + stored :]
    return list(zip(numbers, rest[:count], rest[count : 2 * count], rest[2 * count :], strict=True))


PATHOLOGY = Pathology(
    name="redundant-indexes",
    title="an index is the beginning of another",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="A B-tree on (a, b) finds rows by a as well as one on (a) does. The narrow index is written by every "
    "insert and every update that is not HOT, and saves only the difference in size.",
    threshold="A wider index more than three times as large is another thing; so is one with other operator classes, "
    "collations or orders.",
    references=("https://www.postgresql.org/docs/current/indexes-multicolumn.html",),
    detect=_detect,
    explains=("unused-indexes",),
    needs=("tables", "indexes"),
    proof=ProofOn.TWIN,
)
