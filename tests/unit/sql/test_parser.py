"""PostgreSQL's own parser: trees from texts, texts from trees, and what it cannot read."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from copy import deepcopy
from pathlib import Path

import pytest

from fixtures.command import PATIENCE
from fixtures.lab_home import python
from pgclinic.errors import UsageError
from pgclinic.sql.expression_constants import constants_of
from pgclinic.sql.keyset_paging import keyset_page
from pgclinic.sql.keywords import TAKEN_WORDS
from pgclinic.sql.nodes import ColumnRef, ParamRef, SelectStmt, String, nodes_within
from pgclinic.sql.parser import (
    UnprintableError,
    UnreadableError,
    fingerprint_of,
    normalized,
    only_statement,
    parsed_expression,
    printed,
    statements_of,
    words_of,
)
from pgclinic.sql.scope import KnownSchema
from pgclinic.sql.sql_function import statements_of_body
from pgclinic.sql.typed_statement import typed_statement

ROOT = Path(__file__).parents[3]
QUERIES = sorted((ROOT / "python" / "pgclinic" / "pg" / "queries").glob("*.sql"))
#: Values that psycopg puts into a query, and names of schemas that we do.
_VARIABLE = re.compile(r'%(?:\(\w+\))?s|(?<!:):"\w+"')


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_printed_statement_is_the_one_that_was_read(path: Path) -> None:
    text = _VARIABLE.sub("x", path.read_text(encoding="utf-8")).replace("%%", "%")
    for statement in statements_of(text):
        again = only_statement(printed(statement))
        assert again is not None
        assert fingerprint_of(printed(again)) == fingerprint_of(printed(statement))
    assert fingerprint_of("; ".join(map(printed, statements_of(text)))) == fingerprint_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "(ARRAY(SELECT 1))[1]",
        "(CASE WHEN a THEN b END)[1]",
        "(COALESCE(a, b))[1]",
        "(ARRAY[1, 2])[1]",
        "(f(a)).b",
        "a[1:2]",
        "$1",
        "''",
        "CAST(a AS text)",
        "a IN (1, 2)",
        "(a, b) > (1, 2)",
        "a BETWEEN SYMMETRIC 1 AND 2",
        "NOT (a AND b)",
        "false",
        "0",
        '"Order"."user"',
        "count(DISTINCT a) FILTER (WHERE b)",
        "extract(epoch FROM a)",
        "a AT TIME ZONE 'UTC'",
        "x'ff'::int",
    ],
)
def test_a_printed_expression_is_the_one_that_was_read(text: str) -> None:
    again = printed(parsed_expression(text))
    assert printed(parsed_expression(again)) == again
    assert normalized(f"select {again}") == normalized(f"select {printed(parsed_expression(again))}")
    assert fingerprint_of(f"select {again}") == fingerprint_of(f"select {text}")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("int", "integer"),
        ("int4[]", "int4[]"),
        ("integer[]", "integer[]"),
        ("timestamp with time zone", "timestamp with time zone"),
        ("float", "double precision"),
        ("character varying(10)", "varchar(10)"),
        ('clinic."Mood"', 'clinic."Mood"'),
        ("interval day to second", "interval day to second"),
    ],
)
def test_a_type_has_the_name_that_the_catalogs_have(written: str, name: str) -> None:
    assert printed(parsed_expression(f"null::{written}").typeName) == name


def test_a_sum_of_many_columns_is_read_and_printed() -> None:
    text = " + ".join(["a"] * 200)
    columns = [one for one in nodes_within(parsed_expression(text)) if isinstance(one, ColumnRef)]
    assert len(columns) == 200
    assert printed(parsed_expression(text)).count("a") == 200


@pytest.mark.parametrize(
    "text",
    ["selec", "select '", "select 1\0", "select '\ud800'", "select " + " + ".join(["a"] * 3000), "(" * 3000 + "1"],
    ids=["no verb", "no end", "zero byte", "no character", "deep sum", "deep parentheses"],
)
def test_what_is_no_sql_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        statements_of(text)
    assert only_statement(text) is None


@pytest.mark.parametrize(("levels", "is_read"), [(50, True), (1000, False)])
def test_a_deep_statement_is_either_read_or_refused(levels: int, *, is_read: bool) -> None:
    total = " + ".join(["a"] * levels)
    text = f"select b from t where c = {total} order by b offset 5"
    assert (keyset_page(text) is not None) is is_read
    assert (constants_of(total, total) == {}) is is_read
    assert bool(statements_of_body(text, "f", 0, ())) is is_read
    with nullcontext() if is_read else pytest.raises(UsageError):
        assert typed_statement(text, KnownSchema({})).verb == "select"


@pytest.mark.parametrize("levels", range(180, 420, 20))
def test_wherever_a_statement_turns_out_to_be_too_deep_it_is_refused(levels: int) -> None:
    total = " + ".join(["a"] * levels)
    text = f"select b from t where c = {total} order by b offset 5"
    assert keyset_page(text) is None or levels < 400
    assert constants_of(total, total) in ({}, None)
    assert len(statements_of_body(text, "f", 0, ())) in (0, 1)
    with suppress(UsageError):
        assert typed_statement(text, KnownSchema({})).verb == "select"


@pytest.mark.parametrize(
    ("link", "first"),
    [("+1", "select 1"), ("::int", "select 1"), (" union select 1", "select 1"), (" cross join a", "select 1 from a")],
)
def test_a_long_chain_does_not_end_the_process(link: str, first: str) -> None:
    """A level for each link: an ordinary stack ends at about 25,000."""
    program = """
        import sys
        from pgclinic.sql.parser import UnreadableError, fingerprint_of, normalized, statements_of
        text = sys.argv[1] + sys.argv[2] * 60_000
        assert len(fingerprint_of(text)) == 16
        assert normalized(text).startswith("select $")
        try:
            statements_of(text)
        except UnreadableError as error:
            print(error)
    """
    process = python(program, arguments=(first, link))
    assert process.communicate(timeout=120 * PATIENCE)[0].strip() == "the statement is nested too deeply"


def test_a_long_flat_statement_is_read_and_a_longer_one_refused() -> None:
    values = ", ".join(map(str, range(100_000)))
    (statement,) = statements_of(f"select 1 where 1 in ({values})")
    assert isinstance(statement, SelectStmt)
    with pytest.raises(UnreadableError, match="longer than 4 MB"):
        fingerprint_of("select 1 where 1 in (" + "12345, " * 700_000 + "1)")


def test_what_is_wrong_in_a_long_statement_is_said() -> None:
    with pytest.raises(UnreadableError, match="syntax error"):
        fingerprint_of("select " + "1 + " * 20_000 + ")")


def test_several_statements_are_no_expression() -> None:
    for text in ("1; drop table t", "1, 2"):
        with pytest.raises(UnreadableError):
            parsed_expression(text)


def test_what_cannot_stand_in_a_statement_cannot_be_printed() -> None:
    statement = only_statement("select 1")
    statement.targetList = (SelectStmt(limitCount="no node"),)
    with pytest.raises(UnprintableError):
        printed(statement)


def test_words_have_the_place_where_they_start() -> None:
    text = "select 'ä', ö from ü -- é\n"
    found = list(words_of(text))
    assert [text[one.start : one.start + len(one.text)] for one in found] == [one.text for one in found]
    assert [one.text for one in found] == ["select", "'ä'", ",", "ö", "from", "ü", "-- é"]
    assert found[-1].kind == "SQL_COMMENT"


def test_a_node_has_the_fields_of_its_kind_and_no_others() -> None:
    node = ColumnRef(fields=(String(sval="a"),))
    assert (node.location, list(node)) == (0, ["fields"])
    assert (SelectStmt().whereClause, SelectStmt().fromClause, ParamRef().number) == (None, (), 0)
    with pytest.raises(AttributeError, match="no field column"):
        _ = node.column


def test_a_copy_can_be_changed_alone() -> None:
    statement = only_statement("select a from t where b = 1")
    copy = deepcopy(statement)
    copy.whereClause = None
    assert printed(copy) == "SELECT a FROM t"
    assert printed(statement) == "SELECT a FROM t WHERE b = 1"


def test_the_words_of_enumerations_are_those_of_the_parser() -> None:
    from postgast import pg_query_pb2

    known = {value.name for one in pg_query_pb2.DESCRIPTOR.enum_types_by_name.values() for value in one.values}
    prefixes = tuple({name.split("_")[0] + "_" for name in known})
    used = {
        word
        for path in (ROOT / "python" / "pgclinic" / "sql").glob("*.py")
        for word in re.findall(r'"([A-Z]+_\w+)"', path.read_text(encoding="utf-8"))
        if word.startswith(prefixes)
    }
    assert {"AEXPR_OP", "AT_AddConstraint", "OBJECT_MATVIEW"} <= used
    assert used <= known


def test_the_words_that_need_quotes_are_those_of_the_parser() -> None:
    import postgast

    kind = postgast.pg_query_pb2.KeywordKind
    words = {re.sub(r"_(P|LA)$", "", name).lower() for name, _ in postgast.pg_query_pb2.Token.items()}
    kinds = {}
    for word in words | TAKEN_WORDS:
        (first, *others) = postgast.scan(word).tokens
        if not others and kind.Name(first.keyword_kind) != "NO_KEYWORD":
            kinds[word] = kind.Name(first.keyword_kind)
    assert len(kinds) > 400
    assert {word for word, name in kinds.items() if name != "UNRESERVED_KEYWORD"} == TAKEN_WORDS
