"""A key of type integer comes to its largest value."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.wraparound.sequence_room import USED_SHARE_MIN, Room, column_end, rooms
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Applies, Area, Fact, Role, Treatment, Unit
from pgclinic.sql.quoting import identifier, qualified


def _detect(case: Case) -> Iterator[Seen]:
    for room in sorted(rooms(case), key=lambda one: one.left):
        one = room.sequence
        of_column = column_end(one)
        table = case.all_tables.get(one.table_oid or 0)
        if room.used < USED_SHARE_MIN or of_column is None or of_column > one.value_max or table is None:
            continue
        facts = (
            Fact(name="column", value=f"{table.name}.{one.column}"),
            Fact(name="type", value=one.column_type or ""),
            Fact(name="size of the table and its indexes", value=table.total_bytes, unit=Unit.BYTES),
        )
        yield Seen(
            subject=f"{table.name}.{one.column}",
            severity=room.severity,
            evidence=(room.evidence(*facts),),
            tables=(table.name,),
            cost=room.cost,
            treatments=_treatments(room, table),
        )


def _treatments(room: Room, table: Table) -> tuple[Treatment, ...]:
    one = room.sequence
    column = identifier(one.column or "")
    change = f"alter table {qualified(table.state.schema, table.state.name)} alter column {column} type"
    sequence = f"alter sequence {qualified(one.schema, one.name)} as"
    return (
        Treatment(
            title="make the column a bigint",
            applies=Applies.STATEMENT,
            sql=(f"{change} bigint", f"{sequence} bigint"),
            lock="AccessExclusiveLock: reads and writes wait while the table and its indexes are written anew",
            risk="the table cannot be used meanwhile; columns that refer to it and variables of applications need the "
            "wider type too, and a view that shows the column must be dropped first",
            undo=(f"{sequence} {one.type}", f"{change} {one.column_type}"),
        ),
        Treatment(
            title="or without the lock: add a bigint column, fill it in batches while a trigger keeps it up to date, "
            "build its unique index concurrently, and swap the two in one transaction",
            applies=Applies.APPLICATION,
            risk="the trigger and the batches write each row once more",
        ),
    )


PATHOLOGY = Pathology(
    name="integer-key-nearly-full",
    title="an integer key comes to its largest value",
    area=Area.WRAPAROUND,
    role=Role.CAUSE,
    mechanism="The type integer ends at 2,147,483,647, and an insert of a larger value fails. Rolled-back inserts and "
    "gaps use up values too, so the key may end long before the table has as many rows.",
    threshold="Three quarters used: what took years to get there leaves a third of that time to change the type. "
    "Critical from 95 % on, or when the inserts of the observation use up the rest within 30 days.",
    references=(
        "https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-INT",
        "https://www.postgresql.org/docs/current/sql-altertable.html",
    ),
    detect=_detect,
    no_proof="the cure is certain: the end is further away",
)
