"""What a statement asks of which tables, by its text."""

from __future__ import annotations

import pytest

from pgclinic.sql.statement_shape import statement_shape


def comparisons(text: str) -> list[tuple[str, str | None, str, str | None, str]]:
    """Table, column, operator, how it is wrapped, and what it is compared with, of the whole statement."""
    shape = statement_shape(text)
    assert shape is not None
    return [
        (
            comparison.mentions[0].name if len(comparison.mentions) == 1 else None,
            comparison.column,
            comparison.operator,
            comparison.wrapped,
            comparison.other,
        )
        for level in shape.levels
        for comparison in level.comparisons
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from a where id = $1", [("a", "id", "=", None, "value")]),
        (
            "select * from a where $1 = id and v > $2 + $3",
            [("a", "id", "=", None, "value"), ("a", "v", ">", None, "value")],
        ),
        ("select * from s.a as x where x.id in ($1, $2)", [("a", "id", "in", None, "value")]),
        ("select * from a where id = any ($1)", [("a", "id", "any", None, "value")]),
        ("select * from a where day between $1 and $2", [("a", "day", "between", None, "value")]),
        ("select * from a where name like $1", [("a", "name", "like", None, "value")]),
        ("select * from a where id::text = $1", [("a", "id", "=", "cast", "value")]),
        ("select * from a where lower(name) = lower($1)", [("a", "name", "=", "function", "value")]),
        ("select * from a where v + $1 = $2", [("a", "v", "=", "expression", "value")]),
        ("select * from a where (id, v) = ($1, $2)", [("a", "id", "=", None, "value"), ("a", "v", "=", None, "value")]),
        ("select * from a where id = (select max(id) from b)", [("a", "id", "=", None, "anything")]),
        ("select * from a, b where v = $1", [(None, "v", "=", None, "value")]),
        (
            "select * from a join b on a.id = b.a_id where b.v = $1",
            [("b", "v", "=", None, "value"), ("a", "id", "=", None, "column"), ("b", "a_id", "=", None, "column")],
        ),
        (
            "select * from a join b as x using (k)",
            [("a", "k", "=", None, "column"), ("b", "k", "=", None, "column")],
        ),
        # The rows of a are kept whatever b has, so that no condition is on them.
        (
            "select * from a left join b on a.id = b.a_id and a.v = $1 and b.v = $2",
            [("b", "a_id", "=", None, "column"), ("b", "v", "=", None, "value")],
        ),
        (
            "select * from b right join a using (k)",
            [("b", "k", "=", None, "column")],
        ),
        ("select * from a full join b on a.id = b.a_id and b.v = $1", []),
        # A comparison with b is true for no row that has no partner there.
        (
            "select * from a left join b on a.id = b.a_id where b.v = $1",
            [("b", "v", "=", None, "value"), ("a", "id", "=", None, "column"), ("b", "a_id", "=", None, "column")],
        ),
        (
            "select * from a left join b on a.id = b.a_id where b.v is not distinct from $1",
            [("b", "v", "", None, "value"), ("b", "a_id", "=", None, "column")],
        ),
        (
            "select * from a left join b on a.id = b.a_id join c on c.v = b.v",
            [
                ("a", "id", "=", None, "column"),
                ("b", "a_id", "=", None, "column"),
                ("b", "v", "=", None, "column"),
                ("c", "v", "=", None, "column"),
            ],
        ),
        ("update a set v = $1 where id = $2", [("a", "id", "=", None, "value")]),
        ("delete from a where id = $1 or v = $2", []),
        ("with q as (select 1 as id) select * from q where id = $1", []),
        ("prepare p as select * from a where id = $1", [("a", "id", "=", None, "value")]),
    ],
)
def test_comparisons_name_the_table_and_the_column(
    text: str, expected: list[tuple[str, str | None, str, str | None, str]]
) -> None:
    assert sorted(comparisons(text), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select id from a where v = $1", True),
        ("update a set v = $1", True),
        ("select count(*) from a", False),
        ("select v, max(id) from a group by v", False),
        ("select distinct v from a", False),
        ("select id from a order by v limit $1", False),
        ("select id from a where id in (select max(b.a_id) from b)", False),
        ("select row_number() over (order by id) from a", True),
        ("select count(*) over () from a", True),
        ("insert into a select * from b", False),
    ],
)
def test_what_returns_every_row_that_it_finds(text: str, expected: bool) -> None:
    shape = statement_shape(text)
    assert shape is not None
    assert shape.returns_what_it_reads is expected


def test_a_comparison_of_two_columns_knows_its_partner() -> None:
    shape = statement_shape("select * from a join b as x on a.id = x.a_id")
    assert shape is not None
    found = {
        (comparison.mentions[0].alias, comparison.column, comparison.partners[0].alias, comparison.partner)
        for comparison in shape.top.comparisons
    }
    assert found == {("a", "id", "x", "a_id"), ("x", "a_id", "a", "id")}


def test_order_limit_and_offset_are_those_of_the_outermost_level() -> None:
    shape = statement_shape("select id from (select id, day from a limit $1) as x order by day, lower(id) offset $2")
    assert shape is not None
    assert (shape.top.ordered_by, shape.top.has_limit, shape.top.has_offset) == (("day",), False, True)
    assert shape.levels[1].has_limit


def test_sources_count_everything_that_is_joined() -> None:
    shape = statement_shape("select * from a join b using (k), generate_series(1, 3) as g, (select 1) as x")
    assert shape is not None
    assert (shape.top.sources, [mention.name for mention in shape.mentions]) == (4, ["a", "b"])


@pytest.mark.parametrize(
    "text", ["", "vacuum a", "select 1; select 2", "select * from where", "insert into a values ($1)"]
)
def test_what_has_no_conditions_to_speak_of_has_no_shape(text: str) -> None:
    assert statement_shape(text) is None
