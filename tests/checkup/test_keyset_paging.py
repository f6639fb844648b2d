"""The statement that offset-paging advises gives the same rows in the same order as the one that it stands for."""

from __future__ import annotations

import pytest

from fixtures.patient import patient
from pgclinic.sql.keyset_paging import keyset_page

PAGE = 7
ROWS = 60
TABLE = (
    "create table customers (id int primary key, credit int not null, name text not null, area text)",
    "insert into customers select n, n % 5, 'name ' || n % 3, case when n % 4 > 0 then 'north' end"
    f" from generate_series(1, {ROWS}) n",
)
ORDERS = (
    "id",
    "id desc",
    "credit desc, name",
    "credit, name desc",
    "credit desc, name desc",
    "credit, name",
    "credit desc, name, id desc",
    "name desc, credit, id",
)


@pytest.mark.parametrize("major", ["13", "18"])
def test_advised_statements_give_the_rows_of_the_original(major: str) -> None:
    with patient(major, {}) as server:
        server.sql(*TABLE)
        for order in ORDERS:
            for condition in ("", " where area is null or credit > 1"):
                text = f"select id, credit, name from customers{condition} order by {order} limit $1 offset $2"
                page = keyset_page(text, ("id",))
                assert page is not None and page.first_parameter == 2
                # Made unique, as the order of equal rows is anybody's.
                ordered = ", ".join(f"{key.written}{' desc' if key.descending else ''}" for key in page.keys)
                whole = server.rows(f"select id, credit, name from customers{condition} order by {ordered}")
                names = [key.column for key in page.keys]
                for start in (PAGE, 3 * PAGE):
                    last = dict(zip(("id", "credit", "name"), whole[start - 1], strict=True))
                    given = ", ".join([str(PAGE), *(repr(last[name]) for name in names)])
                    with_values = server.session(f"prepare page as {page.statement}")
                    assert list(with_values.rows(f"execute page({given})")) == whole[start : start + PAGE], text
                    with_values.close()


@pytest.mark.parametrize(
    "text",
    [
        "select id from customers order by lower(name) limit 10 offset 20",
        "select id from customers order by 1 limit 10 offset 20",
        "select lower(name) as name from customers order by name limit 10 offset 20",
        "select name, count(*) from customers group by name order by name limit 10 offset 20",
        "select distinct name from customers order by name limit 10 offset 20",
        "select id, row_number() over () from customers order by id limit 10 offset 20",
        "select id from customers union all select 1 order by id limit 10 offset 20",
        "select id from customers order by id using > limit 10 offset 20",
        "select id from customers limit 10 offset 20",
        "select id from customers order by id limit 10",
        "select id from customers order by id fetch first 10 rows with ties",
        "delete from customers",
        "select",
    ],
)
def test_what_has_no_such_statement_gets_none(text: str) -> None:
    assert keyset_page(text) is None
