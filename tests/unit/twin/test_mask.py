"""Masks of whole columns: what is joined agrees, and what has no mask is removed."""

from __future__ import annotations

import json
from random import Random

from msgspec.structs import replace

from pgclinic.model.twin import (
    ColumnStatistics,
    JointStatistics,
    MaskMethod,
    ObjectKind,
    SchemaObject,
    Twin,
    TwinColumn,
    TwinForeignKey,
    TwinIndex,
    TwinKey,
    TwinTable,
)
from pgclinic.twin.mask import mask_twin


def column(name: str, base: str, *values: str, category: str = "S", **more: object) -> TwinColumn:
    shares = tuple(0.5 / len(values) for _ in values)
    statistics = ColumnStatistics(null_share=0, width=4, distinct=9, common_values=values, common_shares=shares)
    made = TwinColumn(name=name, type=base, base_type=base, category=category, statistics=statistics)
    return replace(made, **more)


def masked(*tables: TwinTable, objects: tuple[SchemaObject, ...] = ()) -> Twin:
    twin = Twin(
        version="18.1",
        version_num=180001,
        captured_epoch_s=0,
        capture_s=0,
        database="d",
        database_bytes=0,
        encoding="UTF8",
        collate="C",
        ctype="C",
        settings={},
        objects=objects,
        tables=tables,
    )
    return mask_twin(twin, Random(7))


def values(twin: Twin, table: int, place: int) -> tuple[str, ...]:
    statistics = twin.tables[table].columns[place].statistics
    assert statistics is not None
    return statistics.common_values


def test_a_foreign_key_joins_columns_of_other_names() -> None:
    parent = TwinTable(name="public.p", columns=(column("code", "text", "alpha", "bravo", "delta"),))
    key = TwinForeignKey(name="f", columns=("of",), parent="public.p", parent_columns=("code",))
    child = TwinTable(name="public.c", columns=(column("of", "text", "delta", "alpha", "zulu"),), foreign_keys=(key,))
    twin = masked(parent, child)
    assert values(twin, 1, 0)[:2] == (values(twin, 0, 0)[2], values(twin, 0, 0)[0])
    assert not {"alpha", "bravo", "delta", "zulu"} & {*values(twin, 0, 0), *values(twin, 1, 0)}


def test_joint_values_are_those_of_the_columns() -> None:
    joint = JointStatistics(
        name="s", columns=("a", "b"), common_values=(("paris", "7"), ("lyon", None)), common_shares=(0.5, 0.4)
    )
    table = TwinTable(
        name="public.t",
        columns=(column("a", "text", "paris"), column("b", "numeric", "70", category="N")),
        joint=(joint,),
    )
    twin = masked(table)
    (first, second) = twin.tables[0].joint[0].common_values
    assert first[0] == values(twin, 0, 0)[0]
    assert second[1] is None
    assert first[1] != "7"


def test_keys_that_are_numbers_stay_and_others_move() -> None:
    numbers = ("100", "200", "300")
    table = TwinTable(
        name="public.t",
        columns=(column("id", "int8", *numbers, category="N"), column("salary", "int4", *numbers, category="N")),
        keys=(TwinKey(name="k", columns=("id",), is_primary=True),),
    )
    twin = masked(table)
    assert values(twin, 0, 0) == numbers
    assert not set(values(twin, 0, 1)) & set(numbers)
    assert [mask.method for mask in twin.masks] == [MaskMethod.NONE, MaskMethod.MONOTONE]


def test_a_check_between_columns_holds_for_masked_values() -> None:
    low = column("low", "numeric", "10", "20", "30", category="N")
    high = column("high", "numeric", "20", "30", "40", category="N")
    twin = masked(TwinTable(name="public.t", columns=(low, high), checks=("CHECK ((low <= high))",)))
    assert values(twin, 0, 0)[1:] == values(twin, 0, 1)[:2]


def test_values_of_an_unknown_type_are_removed_and_their_shares_kept() -> None:
    table = TwinTable(name="public.t", columns=(column("place", "geometry", "0101000020E6", category="U"),))
    twin = masked(table)
    statistics = twin.tables[0].columns[0].statistics
    assert statistics is not None
    assert (statistics.common_values, statistics.common_shares) == ((), (0.5,))
    assert twin.masks[0].method is MaskMethod.DROPPED


def test_constants_of_the_schema_are_kept() -> None:
    check = SchemaObject(
        kind=ObjectKind.CHECK, name="public.t.c", statement="check (state in ('open', 'closed'))", table="public.t"
    )
    table = TwinTable(name="public.t", columns=(column("state", "text", "open", "closed", "waiting"),))
    twin = masked(table, objects=(check,))
    assert values(twin, 0, 0)[:2] == ("open", "closed")
    assert values(twin, 0, 0)[2] not in ("open", "closed", "waiting")
    assert (twin.masks[0].values, twin.masks[0].kept) == (3, 2)


def test_json_keeps_its_names_and_masks_what_only_looks_like_one() -> None:
    few = column("few", "jsonb", *(json.dumps({"name": f"peter{n}", "n": n}) for n in range(60)), category="U")
    many = column("many", "jsonb", *(json.dumps({f"user{n}@example": 1}) for n in range(60)), category="U")
    twin = masked(TwinTable(name="public.t", columns=(few, many)))
    assert {key for text in values(twin, 0, 0) for key in json.loads(text)} == {"name", "n"}
    assert "peter" not in "".join(values(twin, 0, 0))
    assert "user" not in "".join(values(twin, 0, 1))
    assert len({key for text in values(twin, 0, 1) for key in json.loads(text)}) == 60


def test_statistics_of_an_index_s_expression_lose_their_values() -> None:
    found = ColumnStatistics(null_share=0, width=4, distinct=9, common_values=("anna",), common_shares=(0.5,))
    index = TwinIndex(name="public.i", method="btree", keys=("lower(a)",), statistics=(found,))
    twin = masked(TwinTable(name="public.t", columns=(), indexes=(index,)))
    (statistics,) = twin.tables[0].indexes[0].statistics
    assert statistics is not None
    assert (statistics.common_values, statistics.common_shares) == ((), (0.5,))


def test_names_of_time_zones_stay_as_functions_refuse_any_other_text() -> None:
    twin = masked(TwinTable(name="public.u", columns=(column("zone", "text", "UTC", "Europe/Madrid"),)))
    assert values(twin, 0, 0) == ("UTC", "Europe/Madrid")
    assert [(mask.method, mask.reason) for mask in twin.masks] == [(MaskMethod.NONE, "time zone")]


def test_a_name_of_a_time_zone_among_other_texts_is_masked() -> None:
    twin = masked(TwinTable(name="public.u", columns=(column("zone", "text", "UTC", "Miller"),)))
    assert not {"UTC", "Miller"} & set(values(twin, 0, 0))
