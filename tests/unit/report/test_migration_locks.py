"""What a migration locks, in words: on the terminal, in a comment and on a page."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.comparison import asked, comparison, measured
from fixtures.planned import judge
from fixtures.records import run_info
from pgclinic.model.migration import Migration, MigrationStatement, TableLock
from pgclinic.report.kinds import STUDY, study_page
from pgclinic.report.markdown import markdown, report_markdown
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.migration.view import migration_view
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.report.words.migration import lock_lines, lock_rows
from pgclinic.study.compare import PROFILE

RATIOS = (0.72, 0.75, 0.71, 0.74, 0.73)


def lock(mode: str, held_s: float, relation: str = "public.orders") -> TableLock:
    return TableLock(relation=relation, mode=mode, held_s=held_s, rows=200_000.0)


ADD = MigrationStatement(
    text="-- every order gets one\nalter table orders\n  add column id uuid default gen_random_uuid();",
    elapsed_s=1.21,
    locks=(lock("AccessExclusiveLock", 1.234),),
    rewritten=("public.orders",),
)
INDEX = MigrationStatement(text="create index on orders (id);", elapsed_s=0.4, locks=(lock("ShareLock", 0.41),))
KEY = MigrationStatement(
    text="alter table orders add foreign key (customer) references customers;",
    elapsed_s=0.2,
    locks=(lock("ShareRowExclusiveLock", 0.2), lock("ShareRowExclusiveLock", 0.2, "public.customers")),
)
CONCURRENT = MigrationStatement(
    text="create index concurrently on orders (note);",
    elapsed_s=2.0,
    locks=(lock("ShareUpdateExclusiveLock", 1.9),),
    sampled=True,
)
MIGRATION = Migration(statements=(INDEX, ADD, KEY, CONCURRENT), scale=1.0)
FREE = Migration(statements=(MigrationStatement(text="select 1;", elapsed_s=0.001, locks=()),), scale=1.0)


def reported(migration: Migration | None) -> ReportedStudy:
    study, trials = asked(), measured(RATIOS)
    seen = replace(comparison(RATIOS), migration=migration)
    verdict = judge(study, trials, study.profiles[PROFILE])
    return ReportedStudy(run_info(), study, trials, (), verdict, "runs/one", seen)


def test_what_blocks_most_comes_first() -> None:
    first, second, third, more, note = lock_lines(MIGRATION)
    assert first == (
        "ACCESS EXCLUSIVE on public.orders for 1.2 s blocks reads and writes; 200,000 rows are written anew: "
        "alter table orders add column id uuid default gen_random_..."
    )
    assert second.startswith("SHARE ROW EXCLUSIVE on public.orders for 200 ms blocks writes: alter table orders")
    assert third.startswith("SHARE ROW EXCLUSIVE on public.customers for 200 ms blocks writes")
    assert more == "and 2 more, on the page"
    assert "set lock_timeout" in note


def test_a_statement_without_locks_says_so() -> None:
    assert list(lock_lines(FREE)) == ["1 statement took no lock that blocks others"]
    assert list(lock_rows(FREE)) == [("select 1;", "1 ms", "none", "", "", "")]


def test_the_table_has_each_lock_in_the_order_of_the_file() -> None:
    rows = list(lock_rows(MIGRATION))
    assert [row[2] for row in rows] == [
        "SHARE",
        "ACCESS EXCLUSIVE",
        "SHARE ROW EXCLUSIVE",
        "SHARE ROW EXCLUSIVE",
        "SHARE UPDATE EXCLUSIVE",
    ]
    assert rows[1][3] == "public.orders, written anew"
    assert rows[3][:2] == ("", "")
    assert rows[4][4] == "about 1.9 s"


def test_terminal_comment_and_page_have_them() -> None:
    one = reported(MIGRATION)
    assert one.comparison is not None
    text = compare_text(one.comparison, one.trials, RunPaths())
    assert "\n  locks       ACCESS EXCLUSIVE on public.orders for 1.2 s" in text
    assert "- **locks** ACCESS EXCLUSIVE on public.orders" in markdown(one, one.comparison, report="report.html")
    page = study_page(one)
    assert '<h2 id="migration">What the migration locks</h2>' in page
    assert "gen_random_uuid();" in page
    assert "#### What the migration locks" in report_markdown(STUDY, one)


def test_without_a_migration_nothing_is_said() -> None:
    one = reported(None)
    assert one.comparison is not None
    assert migration_view(one) is None
    assert "\n  locks " not in compare_text(one.comparison, one.trials, RunPaths())
    assert "What the migration locks" not in study_page(one)
