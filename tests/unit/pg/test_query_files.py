"""SQL files: every one can be reached, by the version in its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.pg.query_files import QUERIES, query, query_file

FILES = sorted(QUERIES.glob("*.sql"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_reachable(path: Path) -> None:
    name, _, since = path.name.removesuffix(".sql").partition(".since_")
    assert query_file(name, int(since)) == path
    assert query(name, int(since)).strip()


def test_the_folder_holds_nothing_else() -> None:
    assert FILES
    assert {path.suffix for path in QUERIES.iterdir() if path.is_file()} == {".sql"}


def test_the_newest_generation_that_is_not_too_new_is_chosen(tmp_path: Path) -> None:
    for since in (9, 13, 17):
        (tmp_path / f"locks.since_{since}.sql").write_text(f"select {since}")
    chosen = [query_file("locks", major, folder=tmp_path).name for major in (9, 12, 13, 16, 17, 19)]
    assert chosen == [f"locks.since_{since}.sql" for since in (9, 9, 13, 13, 17, 17)]


def test_a_server_may_be_too_old(tmp_path: Path) -> None:
    (tmp_path / "io.since_16.sql").write_text("select 1")
    with pytest.raises(UsageError, match="needs PostgreSQL 16"):
        query_file("io", 15, folder=tmp_path)


def test_an_unknown_query_leads_to_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        query("setings", 18)
    assert caught.value.nearest == "settings"


def test_a_misnamed_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "locks.sql").write_text("select 1")
    with pytest.raises(ValueError, match=r"locks\.sql"):
        query_file("locks", 18, folder=tmp_path)
