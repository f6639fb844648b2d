"""Which views are sampled, on which versions, and which of their rows are kept."""

from __future__ import annotations

import re

import pytest

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.sample import Row
from pgclinic.observe.views import DEFAULT_VIEWS, Top, busiest, key_of, views_at
from pgclinic.pg.query_files import QUERIES
from pgclinic.samples.deltas import CUT_OFF_ROWS, Rate

TOP = Top(keys=("name",), columns=("calls", "blocks"), rows=2)


def row(name: str, calls: int, blocks: int = 0) -> Row:
    return {"name": name, "calls": calls, "blocks": blocks}


def columns(sql: str) -> set[str]:
    return set(re.findall(r"\bas \"?(\w+)\"?", sql)) | set(re.findall(r"\b(?:\w+\.)?(\w+)(?=,|\s+from|\n)", sql))


def test_the_rows_that_changed_most_are_kept() -> None:
    before = {key_of(one, TOP): one for one in (row("a", 5), row("b", 900), row("c", 1), row("d", 0, 7))}
    now = [row("a", 9), row("b", 900), row("c", 2), row("d", 0, 70)]
    assert [one["name"] for one in busiest(now, before, TOP)] == ["d", "a"]


def test_a_new_row_changed_by_all_it_has_and_a_reset_one_by_what_it_lost() -> None:
    before = {key_of(one, TOP): one for one in (row("a", 5), row("b", 900))}
    assert [one["name"] for one in busiest([row("a", 6), row("b", 3), row("new", 40)], before, TOP)] == ["b", "new"]


def test_rates_can_be_chosen_by_name() -> None:
    chosen = {view.name: view.every_s for view in views_at({"tables": 1.0, "database": 10.0})}
    usual = {view.name: view.every_s for view in DEFAULT_VIEWS}
    assert chosen == usual | {"tables": 1.0, "database": 10.0}
    with pytest.raises(UnknownNameError, match="tabels"):
        views_at({"tabels": 1.0})


@pytest.mark.parametrize("major", [9, 10, 11, 12, 13, 14, 15, 16, 17, 18])
def test_every_version_has_what_the_rates_are_made_of(major: int) -> None:
    texts = {view.name: view.sql(major) for view in DEFAULT_VIEWS if view.name in {rate.view for rate in Rate}}
    since_14 = {Rate.FULL_PAGE_IMAGES, Rate.WAL_BUFFERS_FULL}
    missing = {rate for rate in Rate if not set(rate.columns) <= columns(texts[rate.view])}
    assert missing == (since_14 if major < 14 else set())


def test_a_version_without_the_view_says_since_when_it_is_there() -> None:
    (io,) = [view for view in DEFAULT_VIEWS if view.name == "io"]
    with pytest.raises(UsageError, match="needs PostgreSQL 16 or newer, this server is 15"):
        io.sql(15)
    assert "op_bytes" in io.sql(16)
    assert "op_bytes" not in io.sql(18)


def test_limits_are_where_cut_off_samples_are_expected() -> None:
    for path in QUERIES.glob("sample_*.sql"):
        if path.name.startswith(("sample_tables", "sample_statements.", "sample_indexes")):
            limit = re.findall(r"limit (\d+)\s*$", path.read_text())
            assert int(limit[0]) >= CUT_OFF_ROWS, path.name
