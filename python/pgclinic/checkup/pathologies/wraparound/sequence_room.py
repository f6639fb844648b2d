"""How much of a sequence, or of the column that takes its values, is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Cost, CostKind, Evidence, Fact, Severity, SubjectKind, Unit
from pgclinic.model.snapshot import SequenceState

#: Three quarters: what took years leaves a third of that time to change the type of a large table.
USED_SHARE_MIN = 0.75
#: From here on the rest may go in weeks.
USED_SHARE_CRITICAL = 0.95
#: As long as it takes to prepare and test the change of a key's type.
CRITICAL_DAYS = 30.0
_DAY_S = 86_400.0
COLUMN_ENDS = {"smallint": (1 << 15) - 1, "integer": (1 << 31) - 1}


@dataclass(frozen=True)
class Room:
    """``end`` is the last value that can be used, ``left`` how many values there are until then."""

    sequence: SequenceState
    end: int
    used: float
    left: float
    a_day: float | None

    @property
    def days(self) -> float | None:
        return self.left / self.a_day if self.a_day else None

    @property
    def severity(self) -> Severity:
        soon = self.days is not None and self.days < CRITICAL_DAYS
        return Severity.CRITICAL if soon or self.used >= USED_SHARE_CRITICAL else Severity.WARNING

    @property
    def cost(self) -> Cost | None:
        if self.days is None or self.a_day is None:
            return None
        return Cost(
            kind=CostKind.DAYS_LEFT,
            value=self.days,
            basis=(
                Fact(name="values left", value=self.left, unit=Unit.COUNT),
                Fact(name="rows inserted a day", value=self.a_day, unit=Unit.ROWS),
            ),
        )

    def evidence(self, *facts: Fact) -> Evidence:
        one = self.sequence
        return Evidence(
            kind=SubjectKind.SEQUENCE,
            name=f"{one.schema}.{one.name}",
            facts=(
                Fact(name="last value", value=one.last_value or 0, unit=Unit.COUNT),
                Fact(name="end", value=self.end, unit=Unit.COUNT),
                Fact(name="used", value=self.used, unit=Unit.SHARE),
                Fact(name="values left", value=self.left, unit=Unit.COUNT),
                *facts,
            ),
        )


def column_end(one: SequenceState) -> int | None:
    """The largest value of the column that takes this sequence's values; None for bigint, or without a column."""
    if one.increment < 0 or one.table_oid is None:
        return None
    return COLUMN_ENDS.get(one.column_type or "")


def rooms(case: Case) -> Iterator[Room]:
    """Of all sequences that were used and do not start again at their end."""
    for sequence in case.snapshot.sequences:
        if sequence.last_value is None or sequence.cycles or not sequence.increment:
            continue
        begin, own_end = (
            (sequence.value_min, sequence.value_max)
            if sequence.increment > 0
            else (sequence.value_max, sequence.value_min)
        )
        of_column = column_end(sequence)
        end = min(own_end, of_column) if of_column is not None else own_end
        whole = abs(end - begin)
        left = max((end - sequence.last_value) * (1 if sequence.increment > 0 else -1), 0)
        if whole:
            used = 1 - left / whole
            yield Room(sequence, end, used, left / abs(sequence.increment), _values_a_day(case, sequence))


def _values_a_day(case: Case, one: SequenceState) -> float | None:
    """Rows that came into its table in the observation; None without one, or where none came."""
    if one.table_oid is None or not case.observed_s:
        return None
    inserted = case.table_change(one.table_oid, "inserted")
    return inserted / case.observed_s * _DAY_S if inserted > 0 else None
