"""A sequence comes to its end."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wraparound.sequence_room import USED_SHARE_MIN, Room, column_end, rooms
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Role, Treatment
from pgclinic.sql.quoting import qualified

_BIGINT_END = (1 << 63) - 1


def _detect(case: Case) -> Iterator[Seen]:
    for room in sorted(rooms(case), key=lambda one: one.left):
        of_column = column_end(room.sequence)
        # Where the column's type ends no later, the column is what has to change.
        if room.used < USED_SHARE_MIN or (of_column is not None and of_column <= room.sequence.value_max):
            continue
        table = case.all_tables.get(room.sequence.table_oid or 0)
        yield Seen(
            subject=f"{room.sequence.schema}.{room.sequence.name}",
            severity=room.severity,
            evidence=(room.evidence(),),
            tables=(table.name,) if table is not None else (),
            cost=room.cost,
            treatments=_treatments(room),
        )


def _treatments(room: Room) -> tuple[Treatment, ...]:
    one = room.sequence
    name = qualified(one.schema, one.name)
    if one.increment < 0 or one.value_max == _BIGINT_END:
        return (
            Treatment(
                title="let the sequence begin anew where values are free, or use another key",
                applies=Applies.APPLICATION,
                risk="values that are still in use fail as duplicates",
            ),
        )
    widen = f"alter sequence {name} as bigint no maxvalue"
    return (
        Treatment(
            title="let the sequence go on as far as a bigint goes",
            applies=Applies.STATEMENT,
            sql=(widen,),
            lock="ShareRowExclusiveLock on the sequence: nextval waits for a moment",
            risk="what stores the values must be able to take them",
            undo=(f"alter sequence {name} as {one.type} maxvalue {one.value_max}",),
        ),
    )


PATHOLOGY = Pathology(
    name="sequence-nearly-exhausted",
    title="a sequence comes to its end",
    area=Area.WRAPAROUND,
    role=Role.CAUSE,
    mechanism="A sequence without CYCLE fails in nextval once it has reached its MAXVALUE. From then on every insert "
    "that takes a value from it fails.",
    threshold="Three quarters used: what took years to get there leaves a third of that time for the change. Critical "
    "from 95 % on, or when the inserts of the observation use up the rest within 30 days.",
    references=("https://www.postgresql.org/docs/current/sql-altersequence.html",),
    detect=_detect,
    no_proof="the cure is certain: the end is further away",
)
