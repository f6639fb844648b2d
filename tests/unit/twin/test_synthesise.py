"""The plan of a twin's rows: values as whole numbers, counts of common values, order of tables, what checks relate."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pgclinic.model.row_plan import (
    DateFormat,
    DecimalFormat,
    IntervalFormat,
    LabelFormat,
    ListedMaker,
    OrdinalMaker,
    TextMaker,
    TimestampFormat,
    UuidFormat,
)
from pgclinic.model.twin import (
    ColumnStatistics,
    JointStatistics,
    Twin,
    TwinColumn,
    TwinForeignKey,
    TwinKey,
    TwinTable,
)
from pgclinic.twin.checks import ordered_columns
from pgclinic.twin.column_plan import column_plan
from pgclinic.twin.distinct_values import estimated, rest_distinct
from pgclinic.twin.ordinals import DAY_US, format_of_type, ordinal, step_of
from pgclinic.twin.partitions import bounds_within
from pgclinic.twin.synthesise import KEPT_WHOLE_ROWS, synthesise


def column(name: str = "a", base_type: str = "int4", **found: Any) -> TwinColumn:
    statistics = ColumnStatistics(**({"null_share": 0.0, "width": 4, "distinct": -1.0} | found))
    return TwinColumn(name=name, type=base_type, base_type=base_type, statistics=statistics)


def twin(*tables: TwinTable) -> Twin:
    return Twin(
        version="18",
        version_num=180006,
        captured_epoch_s=0,
        capture_s=0,
        database="shop",
        database_bytes=0,
        encoding="UTF8",
        collate="C",
        ctype="C",
        settings={},
        objects=(),
        tables=tables,
    )


@pytest.mark.parametrize(
    ("base_type", "declared", "text", "number"),
    [
        ("int4", "integer", "-17", -17),
        ("numeric", "numeric(10,2)", "3.5", 350),
        ("float8", "double precision", "0.125", 125),
        ("date", "date", "1970-01-31", 30),
        ("timestamptz", "timestamp with time zone", "1970-01-02 01:00:00+01", DAY_US),
        ("time", "time", "00:00:01.5", 1_500_000),
        ("interval", "interval", "1 day -00:00:01", DAY_US - 1_000_000),
        ("interval", "interval", "2 mons", 60 * DAY_US),
        ("bool", "boolean", "t", 1),
        ("inet", "inet", "10.0.0.1", 10 * 2**24 + 1),
        ("date", "date", "infinity", None),
        ("timestamp", "timestamp", "0044-03-15 00:00:00 BC", None),
        ("numeric", "numeric", "NaN", None),
    ],
)
def test_values_are_whole_numbers(base_type: str, declared: str, text: str, number: int | None) -> None:
    form = format_of_type(base_type, declared, [text])
    assert form is not None
    assert ordinal(form, text) == number


def test_types_without_an_order_of_their_own_are_not() -> None:
    assert format_of_type("point", "point", []) is None
    assert format_of_type("inet", "inet", ["fe80::1"]) is None
    assert format_of_type("uuid", "uuid", []) == UuidFormat()
    assert format_of_type("numeric", "numeric", ["1e30"]) == DecimalFormat(scale=-12)


def test_a_step_leaves_room_for_all_values() -> None:
    hours = [3_600_000_000 * hour for hour in range(0, 240, 24)]
    assert step_of(TimestampFormat(), hours, 5) == DAY_US
    assert step_of(TimestampFormat(), hours, 100) == 3_600_000_000
    # The bounds of the whole numbers from 1 to 1001 are a hundred apart.
    assert step_of(DecimalFormat(), list(range(1, 1002, 100)), 1001) == 1


@given(
    rest=st.integers(1, 500_000),
    common=st.integers(0, 100),
    common_share=st.floats(0.0, 0.9),
    null_share=st.floats(0.0, 0.5),
    # Of fewer rows ANALYZE counts all.
    rows=st.integers(30_001, 5_000_000),
)
def test_what_analyze_finds_is_traced_back_to_what_there_was(
    rest: int, common: int, common_share: float, null_share: float, rows: int
) -> None:
    filled = 1.0 - null_share
    share = filled * (1.0 - common_share)
    rest = min(rest, max(int(rows * share), 1))
    found = estimated(rest, common, rows, share, filled, 30_000.0)
    there = rest_distinct(found, common, rows, share, filled)
    again = estimated(there, common, rows, share, filled, 30_000.0)
    # Different numbers may look alike in a sample, but never differ in what ANALYZE makes of them.
    assert again == pytest.approx(found, rel=0.02, abs=1.0) or found >= filled * rows * 0.99


@given(
    shares=st.lists(st.floats(0.0001, 1.0), max_size=50),
    null_share=st.floats(0.0, 1.0),
    rows=st.integers(0, 10_000),
    histogram=st.booleans(),
)
def test_counts_are_exact(shares: list[float], null_share: float, rows: int, histogram: bool) -> None:
    total = sum(shares) or 1.0
    filled = 1.0 - null_share
    scaled = [share / total * filled * (0.5 if histogram else 1.0) for share in shares]
    plan = column_plan(
        column(
            null_share=null_share,
            distinct=float(len(shares) + (200 if histogram else 0)),
            common_values=tuple(str(1000 + at) for at in range(len(shares))),
            common_shares=tuple(scaled),
            histogram=tuple(map(str, range(0, 101))) if histogram else (),
        ),
        rows=rows,
        scale=1.0,
        unique=False,
    )
    common = sum(one.rows for one in plan.common)
    assert plan.nulls == round(null_share * rows)
    assert common <= rows - plan.nulls
    if not histogram and shares:
        assert common == rows - plan.nulls
    assert plan.distinct <= rows - plan.nulls - common


def test_a_column_is_made_by_its_type() -> None:
    def maker(base_type: str, **found: Any) -> Any:
        return column_plan(column(base_type=base_type, **found), rows=10, scale=1.0, unique=False).maker

    assert isinstance(maker("date", histogram=("2024-01-01", "2024-02-01")), OrdinalMaker)
    assert maker("date").format == DateFormat()
    assert maker("interval", histogram=("1 day", "00:00:02")).format == IntervalFormat(days=True)
    assert maker("bool").format == LabelFormat(labels=("f", "t"))
    assert isinstance(maker("text", histogram=("a", "b")), TextMaker)
    assert maker("point") == ListedMaker(values=("(0,0)",))
    limited = TwinColumn(name="a", type="character varying(12)", base_type="varchar")
    assert column_plan(limited, rows=10, scale=1.0, unique=True).maker.chars_max == 12  # type: ignore[union-attr]


def test_a_partition_keeps_the_bounds_of_its_column() -> None:
    assert bounds_within("FOR VALUES FROM ('2024-01-01') TO ('2024-07-01')") == ("2024-01-01", "2024-07-01")
    assert bounds_within("FOR VALUES FROM (MINVALUE) TO (10)") == ()
    assert bounds_within("FOR VALUES IN ('view', 'search')") == ("view",)
    assert bounds_within("DEFAULT") == ()
    never_analyzed = TwinColumn(name="a", type="date", base_type="date")
    plan = column_plan(never_analyzed, rows=10, scale=1.0, unique=False, within=("2024-01-01", "2024-01-03"))
    assert isinstance(plan.maker, OrdinalMaker)
    assert (plan.maker.bounds, plan.maker.extends) == ((19723, 19724), False)


def test_checks_between_columns_are_found() -> None:
    checks = (
        "CHECK ((shipped_at >= ordered_at))",
        "CHECK (((arrived IS NULL) OR (sent < arrived)))",
        'CHECK (("To" > "From ""x"""))',
        "CHECK ((price > (0)::numeric))",
        "CHECK ((NOT (a > b)))",
    )
    assert list(ordered_columns(checks)) == [
        ("ordered_at", "shipped_at", False),
        ("sent", "arrived", True),
        ('From "x"', "To", True),
    ]


def test_parents_come_first_and_small_tables_whole() -> None:
    child = TwinTable(
        name="s.child",
        columns=(column("id"), column("parent_id", distinct=50.0)),
        rows=50_000,
        pages=100,
        pages_now=200,
        keys=(TwinKey(name="k", columns=("id",), is_primary=True),),
        foreign_keys=(TwinForeignKey(name="f", columns=("parent_id",), parent="s.parent", parent_columns=("id",)),),
    )
    parent = TwinTable(name="s.parent", columns=(column("id"),), rows=50, pages=1, pages_now=1)
    made = synthesise(twin(child, parent), scale=0.1)
    assert [(table.name, table.rows) for table in made.plan.tables] == [("s.parent", 50), ("s.child", 10_000)]
    child_plan = made.plan.tables[1]
    assert child_plan.columns[0].unique
    assert child_plan.foreign[0].parent == 0
    assert KEPT_WHOLE_ROWS > 50


def test_groups_that_stay_as_many_have_fewer_rows_each() -> None:
    keys = {
        "keys": (TwinKey(name="k", columns=("area_id", "number"), is_primary=True),),
        "foreign_keys": (TwinForeignKey(name="f", columns=("area_id",), parent="area", parent_columns=("area_id",)),),
    }
    bounds = tuple(map(str, range(1, 3001, 30)))
    member = TwinTable(
        name="member",
        columns=(column("area_id", distinct=20.0), column("number", distinct=3000.0, histogram=bounds)),
        rows=60_000,
        pages=600,
        pages_now=600,
        **keys,  # type: ignore[arg-type]
    )
    area = TwinTable(name="area", columns=(column("area_id"),), rows=20, pages=1, pages_now=1)
    number = synthesise(twin(area, member), scale=0.1).plan.tables[1].columns[1]
    assert number.distinct == pytest.approx(300, rel=0.05)
    assert synthesise(twin(area, member)).plan.tables[1].columns[1].distinct == pytest.approx(3000, rel=0.05)


def test_joint_values_and_functions_of_columns() -> None:
    table = TwinTable(
        name="t",
        columns=(column("zip", "text", distinct=100.0), column("city", "text", distinct=10.0)),
        rows=1000,
        pages=10,
        pages_now=10,
        joint=(
            JointStatistics(
                name="j",
                columns=("zip", "city"),
                common_values=(("z1", "c1"), ("z2", None)),
                common_shares=(0.5, 0.25),
                dependencies={"zip => city": 0.99},
            ),
        ),
    )
    joint = synthesise(twin(table)).plan.tables[0].joint[0]
    assert [value.rows for value in joint.values] == [500, 250]
    assert joint.values[1].values[1] is None
    assert joint.functions == ((0, 1),)


def test_a_single_row_has_the_constant_that_is_its_columns_default() -> None:
    zone = replace(column(base_type="text", distinct=-1.0), default="'UTC'::text")
    assert [(one.text, one.rows) for one in column_plan(zone, rows=1, scale=1.0, unique=False).common] == [("UTC", 1)]
    assert column_plan(zone, rows=1, scale=1.0, unique=True).common == ()
    assert column_plan(replace(zone, default="current_user"), rows=1, scale=1.0, unique=False).common == ()
