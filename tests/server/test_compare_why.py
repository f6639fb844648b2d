"""``pgclinic compare`` says why one arm is slower: what real servers did is found in their samples and plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.command import Command
from pgclinic.judge.evidence import gather
from pgclinic.model.activity import Cause, CauseKind, WorkKind
from pgclinic.report.sections.waits.two_arms import why_words
from pgclinic.samples.activity import compare_activity
from pgclinic.samples.causes import find_causes
from pgclinic.store.run_folder import read_run

ROWS = 20_000
#: So many take a hundred times as long to read as to find, which shows at any load; no worker helps with them yet.
MANY_ROWS = 100_000
INDEX = "alter table items add primary key (id);\n"
QUICK = ("--warm-up", "0", "--blocks", "4", "--seed", "3", "--no-calibrate", "--json")


def table(rows: int, index: str = "") -> str:
    return (
        f"create table items as select n as id, md5(n::text) as word from generate_series(1, {rows}) as n;\n"
        f"{index}vacuum (analyze) items;\n"
    )


@pytest.fixture
def items(command: Command) -> Command:
    (command.folder / "index.sql").write_text(table(ROWS, INDEX))
    (command.folder / "find.sql").write_text(f"\\set id random(1, {ROWS})\nselect word from items where id = :id;\n")
    (command.folder / "sort.sql").write_text(
        "select max(n) from (select row_number() over (order by word) as n from items) as ranked;\n"
    )
    return command


def compared(command: Command, *words: str) -> dict[str, Any]:
    done = command.run("compare", *words, *QUICK, timeout=240)
    assert done.returncode in (0, 4), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["comparison"]
    return found


def causes(run: Path, slower: str) -> tuple[Cause, ...]:
    """Also on a machine that others keep too busy for an answer."""
    stored = read_run(run)
    assert stored.plan is not None
    pairs = gather(stored.plan.study.questions[0], stored.trials).pairs
    assert len(pairs) == 4
    activity = compare_activity([(pair.control, pair.arm) for pair in pairs])
    assert activity is not None
    return find_causes(activity, slower)


def work_in(found: tuple[Cause, ...]) -> set[WorkKind]:
    return {cause.work.work for cause in found if cause.work is not None}


@pytest.mark.drawn(0.3)
def test_a_missing_index_is_named_by_its_plan_on_the_terminal_and_the_page(items: Command) -> None:
    (items.folder / "index.sql").write_text(table(MANY_ROWS, INDEX))
    (items.folder / "no_index.sql").write_text(table(MANY_ROWS))
    (items.folder / "find.sql").write_text(f"\\set id random(1, {MANY_ROWS})\nselect word from items where id = :id;\n")
    words = ("--a", "schema=index.sql", "--b", "schema=no_index.sql", "--script", "find.sql", "--measure", "1s")
    seen = compared(items, *words, "-c", "2")
    run = items.only_run()
    found = causes(run, "b")
    assert WorkKind.SEQUENTIAL_SCANS in work_in(found)
    # Of a refused comparison nobody says why, and on a machine that noisy the statement's time may leave it open.
    answered = seen["word"] == "slower"
    if answered:
        assert found[0].kind is CauseKind.PLAN
        assert found[0].effect > 0.5
        why = "plans differ: Index Scan using items_pkey on items (a) -> Seq Scan on items (b)"
        assert (why_words(found) or "").startswith(why)
    assert [one["kind"] for one in seen["causes"]] == ([one.kind.value for one in found] if answered else [])

    judged = items.run("study", "judge", str(run)).stdout
    page = (run / "report.html").read_text()
    assert ("  why         plans differ: Index Scan" in judged) == answered
    assert ("plans differ: Index Scan using items_pkey on items (a) -&gt; Seq Scan on items (b)" in page) == answered
    for text in (judged, page):
        assert "Per transaction" in text
        assert "Sessions waiting for" in text
        assert "Index Scan using items" in text


@pytest.mark.drawn(0.3)
def test_too_little_work_mem_is_named_by_its_temporary_files(items: Command) -> None:
    compared(
        items,
        *("--a", "set:work_mem=64kB", "--b", "set:work_mem=64MB", "--schema", "index.sql", "--script", "sort.sql"),
        *("--measure", "1s", "-c", "2"),
    )
    found = causes(items.only_run(), "a")
    assert WorkKind.TEMPORARY_FILES in work_in(found)
    assert "/s (a) against none (b)" in (why_words(found) or "")


@pytest.mark.drawn(0.3)
def test_too_few_shared_buffers_are_named_by_the_buffers_read(items: Command) -> None:
    compared(
        items,
        *("--a", "set:shared_buffers=64MB", "--b", "set:shared_buffers=128kB", "--schema", "index.sql"),
        # Of a busy machine's one second the first reads of the table, which both arms have, may be most.
        *("--script", "find.sql", "--measure", "3s", "-c", "2"),
    )
    found = causes(items.only_run(), "b")
    assert found[0].work is not None and found[0].work.work is WorkKind.BUFFER_READS
    assert all(cause.kind is not CauseKind.PLAN for cause in found)


@pytest.mark.drawn(0.3)
def test_waiting_for_the_wal_is_named_by_its_wait(command: Command) -> None:
    """Every flush of the WAL is held up for 20 ms and the others wait for it: plain at any load of the machine."""
    compared(
        command,
        *("--a", "set:commit_delay=20000", "--a", "set:commit_siblings=0", "--b", "set:commit_delay=0", "-s", "4"),
        *("--script", "builtin:simple-update", "--measure", "3s", "-c", "6"),
    )
    waits = [cause.wait.wait for cause in causes(command.only_run(), "a") if cause.wait is not None]
    assert "WAL" in waits, waits
