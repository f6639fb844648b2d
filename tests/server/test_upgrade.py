"""A workload on another major version through the command: what is slower, why and since when; nothing where it is
the same; and what is refused before anything runs."""

from __future__ import annotations

import html
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.bare_twin import bare_twin
from fixtures.command import Command, descendants, wait_for
from fixtures.lab_home import binaries_for
from fixtures.visits import SLOWER, SWITCH, VISITS, captured
from pgclinic.model.twin import ObjectKind, SchemaObject, TwinTable
from pgclinic.model.upgrade import MissingStatistics, UpgradeWord
from pgclinic.tune.upgrade.preflight import preflight

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Visits on 14, which has no enable_presorted_aggregate."""
    yield captured(VISITS, "14", tmp_path_factory.mktemp("twin") / "visits.twin")


def upgraded(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.stdout)["upgrade"]
    return found


def named(found: dict[str, Any], word: UpgradeWord) -> list[dict[str, Any]]:
    return [one for one in found["statements"] if one["word"] == word.value]


def test_what_is_slower_on_18_has_its_cause_and_its_release(twin: Path, command: Command) -> None:
    ran = command.run("upgrade", str(twin), "--to", "18", "--bisect", "--no-blocks", "--json", "--seed", "1")
    assert ran.returncode == 0, ran.stderr
    # What is known without a row of data is printed before the twin is filled.
    first = ran.stderr.index("hash_mem_multiplier: the default is 2, it was 1")
    assert first < ran.stderr.index("statements on both versions")
    found = upgraded(ran)
    (slower,) = named(found, UpgradeWord.SLOWER)
    assert SLOWER in slower["text"]
    assert slower["low"] > slower["margin"]
    assert slower["plan_changed"]
    assert "Sort" in slower["after_plan"]
    assert slower["cause"]["settings"] == {SWITCH: "off"}
    assert slower["since"].startswith("16.")
    assert len(found["bisected"]) == 3
    assert "pg_stat_statements" in [one["name"] for one in found["preflight"]["extensions"]]
    # 18 carries the statistics of columns over, extended ones never.
    assert found["before_analyze"]["missing"] == MissingStatistics.EXTENDED.value
    page = (command.only_run() / "report.html").read_text()
    assert SWITCH in page
    listed = command.run("runs", "list", "--json")
    assert [run["answer"] for run in json.loads(listed.stdout)] == ["measured"]
    again = command.run("report", str(command.only_run()), "-o", "again.md")
    assert again.returncode == 0, again.stderr
    # Markdown escapes underscores.
    assert SWITCH in (command.folder / "again.md").read_text().replace("\\", "")


@pytest.mark.drawn(0.3)
def test_blocks_say_what_the_whole_server_needs(twin: Path, command: Command) -> None:
    ran = command.run(
        *("upgrade", str(twin), "--to", "18", "--budget", "4m", "--fail-if", "b<0.95a", "--json", "--seed", "2"),
        timeout=400,
    )
    assert ran.returncode in (3, 4), ran.stderr
    found = upgraded(ran)
    assert found["spent_s"] < 240 + 60
    seen = found["comparison"]
    if ran.returncode == 3:
        assert seen["interval"]["high"] < 0.95
        assert [one["state"] for one in seen["thresholds"]] == ["crossed"]
    else:
        assert seen is None or seen["word"] == "invalid" or command.was_starved(), ran.stderr
    plan = json.loads((command.only_run() / "plan.json").read_text())
    versions = [plan["arms"][arm]["server"]["version"].split(".")[0] for arm in ("a", "b")]
    assert versions == ["14", "18"]
    resumed = command.run("upgrade", "--resume", str(command.only_run()), "--json", timeout=400)
    assert resumed.returncode in (3, 4), resumed.stderr
    assert upgraded(resumed)["statements"] == found["statements"]


@pytest.mark.drawn(0.3)
def test_before_17_has_analyzed_there_are_no_statistics(twin: Path, command: Command) -> None:
    ran = command.run("upgrade", str(twin), "--to", "17", "--no-blocks", "--json", "--budget", "3m", "--seed", "3")
    assert ran.returncode == 0, ran.stderr
    seen = upgraded(ran)["before_analyze"]
    assert seen["missing"] == MissingStatistics.ALL.value
    assert seen["planned"] == len(upgraded(ran)["statements"])
    # Two columns that belong together are hidden from the planner then, and what a region has is a guess.
    assert seen["statements"]
    assert seen["analyze_s"] > 0


@pytest.mark.drawn(0.3)
def test_a_threshold_that_the_budget_leaves_no_blocks_for_is_not_kept(twin: Path, command: Command) -> None:
    """Statements have half of the time, and what is left of 75 s is less than blocks need."""
    ran = command.run("upgrade", str(twin), "--to", "18", "--budget", "75s", "--fail-if", "b<0.95a", "--seed", "4")
    if ran.returncode == 2:
        # A starved machine has measured no statement by then, and says so.
        assert "--budget" in ran.stderr
        return
    assert ran.returncode == 4, ran.stderr
    assert "b<0.95a: not judged, since the budget of 75 s had no time for blocks" in " ".join(ran.stdout.split())
    assert "b<0.95a: not judged" in html.unescape((command.only_run() / "report.html").read_text())


@pytest.mark.parametrize("version", ["14", "18"])
@pytest.mark.drawn(0.3)
def test_a_version_against_itself_changes_nothing(twin: Path, command: Command, version: str) -> None:
    ran = command.run(
        *("upgrade", str(twin), "--from", version, "--to", version, "--no-blocks", "--json", "--budget", "2m"),
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    found = upgraded(ran)
    assert len(found["statements"]) == 4
    assert named(found, UpgradeWord.SLOWER) + named(found, UpgradeWord.FASTER) == []
    assert not any(one["plan_changed"] for one in found["statements"])
    assert found["before_analyze"] is None


@pytest.mark.drawn(0.3)
def test_an_interrupt_leaves_nothing_behind(twin: Path, command: Command) -> None:
    started = command.start("upgrade", str(twin), "--to", "18", "--no-blocks")
    wait_for(lambda: len([name for name in descendants(started.pid).values() if "bin/postgres -D" in name]) == 3)
    servers = list(descendants(started.pid))
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=120)
    assert (started.returncode, "interrupted" in err) == (130, True), err
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in servers))
    assert not command.runs.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "13"), "newer than --to 13"),
        (("--to", "77"), "77"),
        (("--to", "eighteen"), "not a PostgreSQL version"),
        (("--from", "18", "--to", "17"), "newer than --to 17"),
        (("--budget", "soon"), "--budget"),
        (("--fail-if", "b<0.95b"), "itself"),
        (("--fail-if", "b<0.95a", "--no-blocks"), "--no-blocks"),
        (("--markdown", "-", "--json"), "cannot both go to stdout"),
    ],
)
def test_what_cannot_be_an_upgrade_is_refused(twin: Path, command: Command, words: tuple[str, ...], said: str) -> None:
    refused = command.run("upgrade", str(twin), *words)
    assert (refused.returncode, said in refused.stderr) == (1, True), refused.stderr
    assert not command.runs.exists()


@pytest.mark.parametrize("words", [(), ("nothing.twin",), ("host=/nowhere dbname=x",)])
def test_an_original_that_is_not_there_is_refused(command: Command, words: tuple[str, ...]) -> None:
    assert command.run("upgrade", *words).returncode == 1


def test_an_object_that_the_target_refuses_is_named() -> None:
    """Since 14 array_append takes anycompatiblearray, so an aggregate of anyarray finds no such function."""
    aggregate = SchemaObject(
        kind=ObjectKind.FUNCTION,
        name="public.collect(anyelement)",
        statement="create aggregate public.collect(anyelement) "
        "(sfunc = array_append, stype = anyarray, initcond = '{}')",
    )
    found = preflight(
        replace(bare_twin([TwinTable(name="public.t", columns=())]), objects=(aggregate,)),
        binaries_for("13"),
        binaries_for("18"),
    )
    (refused,) = found.objects
    assert (refused.kind, refused.name) == ("function", "public.collect(anyelement)")
    assert "array_append" in refused.reason
