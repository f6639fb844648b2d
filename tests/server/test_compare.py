"""``pgclinic compare`` on real servers: what differs is found, what does not is not, and everything is kept."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from fixtures.command import PATIENCE, Command, wait_for
from fixtures.lab_home import binaries_for
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.output import CompareOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.pg.connect import connect, set_password

ROWS = 20_000
QUICK = ("--measure", "1s", "--warm-up", "0", "--blocks", "4", "-c", "2", "--seed", "3", "--no-calibrate")
SECRET = "secret-word"


@pytest.fixture
def items(command: Command) -> Command:
    """A table of our own, and a script that finds one of its rows."""
    (command.folder / "schema.sql").write_text(
        f"create table items as select n as id, md5(n::text) as word from generate_series(1, {ROWS}) as n;\n"
        "alter table items add primary key (id);\nvacuum (analyze) items;\n"
    )
    (command.folder / "find.sql").write_text(f"\\set id random(1, {ROWS})\nselect word from items where id = :id;\n")
    return command


def compare(command: Command, *words: str) -> tuple[int, dict[str, Any], str]:
    done = command.run("compare", *words, "--json", timeout=240)
    assert done.returncode in (0, 3, 4), done.stdout + done.stderr
    # What the published schema says is all that is printed.
    assert msgspec.json.decode(done.stdout, type=CompareOutput).comparison.name
    return done.returncode, json.loads(done.stdout)["comparison"], done.stderr


def clearly_slower(comparison: dict[str, Any]) -> bool:
    """On a machine that others keep busy the word may be *invalid*, but not the interval another."""
    return comparison["word"] in ("slower", "invalid") and bool(comparison["interval"]["high"] < 0.8)


def test_settings_that_differ_are_told_apart_and_all_of_it_is_kept(items: Command) -> None:
    code, seen, _ = compare(
        items,
        *("--b", "set:enable_indexscan=off", "--b", "set:enable_bitmapscan=off", "--b", "set:enable_indexonlyscan=off"),
        *("--schema", "schema.sql", "--script", "find.sql", *QUICK),
        *("--fail-if", "b<0.95a", "--fail-if", "b>2a"),
        *("--junit", "out.xml", "--markdown", "out.md", "--bencher", "out.json", "--otava", "out.csv"),
    )
    assert clearly_slower(seen), seen
    valid = seen["word"] == "slower"
    assert code == (3 if valid else 4)
    assert [one["state"] for one in seen["thresholds"]] == (["crossed", "kept"] if valid else ["undecided"] * 2)
    measures = {one["measure"]: one for one in seen["measures"]}
    assert {"tps", "statements", "p50", "p99", "cpu", "wal", "hits"} <= set(measures)
    assert measures["p50"]["interval"]["low"] > 1
    assert measures["cpu"]["b"] > 2 * measures["cpu"]["a"]

    suite = ElementTree.parse(items.folder / "out.xml").getroot()[0]
    assert suite.attrib["tests"] == "2"
    assert "b / a" in json.loads((items.folder / "out.json").read_text())
    assert len((items.folder / "out.csv").read_text().splitlines()) == 2
    assert "enable\\_indexscan" in (items.folder / "out.md").read_text()

    folder = items.only_run()
    assert len(items.records()) == 8
    assert all(record["load"]["transactions"] > 0 for record in items.records())
    page = (folder / "report.html").read_text()
    assert "Side by side" in page
    assert "The claim:" not in page
    assert json.loads((folder / "comparison.json").read_text())["word"] == seen["word"]
    assert set(msgspec.json.decode((folder / "plan.json").read_bytes(), type=ExperimentPlan).arms) == {"a", "b"}

    again = items.run("study", "judge", str(folder), "--json")
    # Judged anew, the comparison is held against the thresholds that it was run with.
    assert again.returncode == code, again.stderr
    judged = json.loads(again.stdout)["comparison"]
    assert {key: judged[key] for key in ("word", "interval", "measures", "reasons")} == {
        key: seen[key] for key in ("word", "interval", "measures", "reasons")
    }

    refused = items.run("compare", "--b", "set:fsync=off", "--junit", "out.xml")
    assert (refused.returncode, len(list(items.runs.iterdir()))) == (1, 1)
    assert "out.xml already exists" in refused.stderr


@pytest.mark.drawn(0.2)
def test_arms_that_are_the_same_are_never_told_apart(items: Command) -> None:
    # An always-valid interval: with the fewest blocks that bound it, it all but never leaves out the truth.
    code, seen, said = compare(
        items,
        *("--a", "set:work_mem=4MB", "--b", "set:work_mem=4MB", "--schema", "schema.sql", "--script", "find.sql"),
        *("--measure", "1s", "--warm-up", "0", "--budget", "24s", "-c", "2", "--strict"),
    )
    assert seen["word"] in ("no difference", "inconclusive", "invalid"), seen
    interval = seen["interval"]
    assert interval["low"] is None or interval["low"] < 1.05
    assert interval["high"] is None or interval["high"] > 0.95
    assert code == (0 if seen["word"] == "no difference" else 4)
    # Less what the command took before its first block.
    (planned_s,) = re.findall(r"blocks of \d+ s · up to (\d+) s", said)
    assert int(planned_s) <= 24
    assert (seen["causes"], seen["activity"]["a_sessions"]) == ([], 2)


@pytest.mark.drawn(0.2)
def test_two_versions_with_a_held_horizon_each(items: Command) -> None:
    _, seen, said = compare(
        items,
        *("--a", "version=13", "--b", "version=18", "--a", "condition:held=session", "--b", "condition:idle=5"),
        *("--schema", "schema.sql", "--script", "find.sql", *QUICK),
    )
    assert {record["spec"]["arm"]: record["server_version"].split(".")[0] for record in items.records()} == {
        "a": "13",
        "b": "18",
    }
    held = {record["spec"]["arm"]: record["spec"]["condition"] for record in items.records()}
    assert held["a"]["horizon_held_by"] == "session"
    assert held["b"]["idle_sessions"] == 5
    assert " and " in seen["server_version"]
    assert seen["interval"]["low"] is not None
    assert "a: PostgreSQL 13." in said


@pytest.mark.drawn(0.2)
def test_two_scripts(items: Command) -> None:
    (items.folder / "scan.sql").write_text("select count(*) from items where word like 'a%';\n")
    _, seen, _ = compare(
        items, "--a", "script=find.sql", "--b", "script=scan.sql", "--schema", "schema.sql", *QUICK, "-M", "prepared"
    )
    assert clearly_slower(seen), seen
    assert {record["load"]["scripts"][0]["name"] for record in items.records()} == {"find.sql", "scan.sql"}


@pytest.mark.drawn(0.2)
def test_two_schemas_as_arm_files_with_a_function(items: Command) -> None:
    slow = (
        "create function word_of(wanted int) returns text language plpgsql as $$\nbegin\n"
        "  perform count(*) from items;\n"
        "  return (select word from items where id = wanted);\nend;\n$$;\n"
    )
    fast = slow.replace("  perform count(*) from items;\n", "")
    schema = (items.folder / "schema.sql").read_text()
    for name, function in (("a", fast), ("b", slow)):
        (items.folder / f"{name}.sql").write_text(schema + function)
        (items.folder / f"{name}.toml").write_text(f'schema = "{name}.sql"\n[set]\njit = "off"\n')
    (items.folder / "call.sql").write_text("select word_of(7);\n")
    _, seen, _ = compare(items, "--from", "a.toml", "--from", "b.toml", "--script", "call.sql", *QUICK)
    assert clearly_slower(seen), seen
    assert {record["settings"]["jit"] for record in items.records()} == {"off"}


@pytest.mark.drawn(0.2)
def test_pgbench_tables_and_its_own_script_are_what_is_run_unless_told_otherwise(command: Command) -> None:
    _, seen, _ = compare(command, "--b", "set:synchronous_commit=off", "-s", "2", *QUICK)
    for record in command.records():
        assert record["load"]["scripts"][0]["name"] == "tpcb-like"
        assert record["load"]["failed"] == 0
        assert record["spec"]["load"]["variables"] == {"scale": "2"}
    measures = {one["measure"]: one for one in seen["measures"]}
    assert measures["statements"]["a"] == pytest.approx(7 * measures["tps"]["a"], rel=0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def attached() -> Iterator[tuple[RunningServer, RunningServer]]:
    """Two servers that pgclinic compare knows by their addresses alone."""
    with ExitStack() as stack:
        yield tuple(  # type: ignore[misc]
            stack.enter_context(start_server(binaries_for("18"), settings={"fsync": "off"}, port=free_port()))
            for _ in range(2)
        )


@pytest.mark.drawn(0.2)
def test_two_servers_by_address_get_a_database_each_and_keep_nothing(
    items: Command, attached: tuple[RunningServer, RunningServer]
) -> None:
    addresses = []
    for running in attached:
        with connect(running.server, users_search_path=True) as connection:
            set_password(connection, running.server.user, SECRET)
        server = running.server
        addresses.append(f"postgresql://{server.user}:{SECRET}@127.0.0.1:{server.port}/postgres")
    _, seen, said = compare(
        items,
        *("--a", f"dsn={addresses[0]}", "--b", f"dsn={addresses[1]}", "--schema", "schema.sql"),
        *("--script", "find.sql", *QUICK),
    )
    assert seen["interval"]["ratio"] > 0
    ports = {record["spec"]["arm"]: record["load"] and record["spec"]["server"]["dsn"] for record in items.records()}
    assert [f"port={running.server.port}" in ports[arm] for arm, running in zip("ab", attached, strict=True)] == [
        True,
        True,
    ]
    for running in attached:
        with connect(running.server, users_search_path=True) as connection:
            rows = connection.execute("select count(*) from pg_database where datname like 'pgclinic%'").fetchone()
        assert rows == (0,)
    found = subprocess.run(["grep", "-rl", SECRET, str(items.folder)], capture_output=True, text=True, check=False)
    assert found.stdout == ""
    assert SECRET not in said


def test_an_arm_that_cannot_start_answers_nothing(items: Command) -> None:
    code, seen, _ = compare(
        items,
        *("--b", "set:shared_preload_libraries=no_such_library", "--schema", "schema.sql", "--script", "find.sql"),
        *(*QUICK, "--fail-if", "b<a"),
    )
    assert (code, seen["word"], seen["interval"]) == (4, "invalid", None)
    assert seen["thresholds"][0]["state"] == "undecided"
    assert any("no_such_library" in step.get("failure", "") for step in seen["reasons"])
    # Two blocks show that it never will.
    assert len(items.records()) == 4


def test_a_setting_that_this_version_refuses_is_found_before_any_run(command: Command) -> None:
    done = command.run("compare", "--a", "set:work_memm=4MB")
    assert done.returncode == 1
    assert "did you mean work_mem" in done.stderr
    assert not command.runs.exists()


def test_a_version_that_does_not_exist_is_refused_before_any_other_is_downloaded(command: Command) -> None:
    done = command.run("compare", "--a", "version=12", "--b", "version=88", timeout=120)
    assert done.returncode == 1
    assert "did you mean 18.6" in done.stderr
    assert "PostgreSQL 12" not in done.stderr
    assert not command.runs.exists()


@pytest.mark.drawn(0.2)
def test_an_interrupt_keeps_what_was_finished_and_the_rest_can_be_run_later(items: Command) -> None:
    process = items.start(
        "compare", "--b", "set:work_mem=8MB", "--schema", "schema.sql", "--script", "find.sql", *QUICK
    )
    wait_for(lambda: list(items.runs.glob("*/trials/*/record.json")), 90)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60 * PATIENCE)
    assert (process.returncode, out) == (130, "")
    run = items.only_run()
    assert f"pgclinic compare --resume runs/{run.name}" in err
    kept = {path: path.read_bytes() for path in run.glob("trials/*/record.json")}
    again = items.run("study", "judge", str(run))
    assert again.returncode in (0, 4), again.stderr

    for words, refusal in (
        (("--b", "set:work_mem=9MB"), "omit these options"),
        (("-c", "3"), "omit these options"),
        (("--dsn", "host=127.0.0.1 port=1"), "was started on"),
    ):
        refused = items.run("compare", "--resume", str(run), *words)
        assert refused.returncode == 1
        assert refusal in refused.stderr
    other = items.run("study", "run", "--resume", str(run))
    assert (other.returncode, f"pgclinic compare --resume {run}" in other.stderr) == (1, True)

    _, seen, said = compare(items, "--resume", str(run), "--fail-if", "b<0.1a")
    assert f"compare   {len(kept)} trial" in said and f" done; resuming {run}" in said
    assert {path: path.read_bytes() for path in kept} == kept, "what was finished stays as it was"
    arms = [record["spec"]["arm"] for record in items.records()]
    assert (arms.count("a"), arms.count("b")) == (4, 4)
    assert seen["interval"]["blocks"] == 4
    assert seen["thresholds"][0]["threshold"]["text"] == "b<0.1a"
    assert len(json.loads((run / "run.json").read_text())["resumed_epoch_us"]) == 1


@pytest.mark.drawn(0.2)
def test_a_comparison_that_needs_more_blocks_gets_them(items: Command) -> None:
    words = ("--b", "set:work_mem=8MB", "--schema", "schema.sql", "--script", "find.sql", *QUICK)
    _, seen, _ = compare(items, *words)
    run = items.only_run()
    assert seen["interval"]["blocks"] == 4
    assert seen["interval"]["method"] == "fixed_blocks"

    for asked, refusal in (
        (("--blocks", "3"), "4 have run"),
        (("--budget", "+1s"), "holds no further block"),
        (("--blocks", "6", "--budget", "5m"), "mutually exclusive"),
    ):
        refused = items.run("compare", "--resume", str(run), *asked)
        assert (refused.returncode, refusal in refused.stderr) == (1, True), refused.stderr
    assert len(items.records()) == 8

    _, seen, said = compare(items, "--resume", str(run), "--blocks", "6")
    assert "the number of blocks was fixed at 4 and is raised: the interval is now a confidence sequence" in said
    assert "block 5 of at most 6" in said
    assert seen["interval"]["method"] == "always_valid"
    # It may be clear one block earlier.
    assert seen["interval"]["blocks"] in (5, 6)
    assert seen["reasons"][0] == {"reason": "blocks_raised", "fixed_at": 4}
    info = json.loads((run / "run.json").read_text())
    assert (info["blocks_max"], info["blocks_fixed"]) == (6, 4)
    judged = json.loads(items.run("study", "judge", str(run), "--json").stdout)["comparison"]
    assert (judged["interval"], judged["reasons"]) == (seen["interval"], seen["reasons"])
    orders = [record["spec"] for record in items.records()]
    assert sorted((spec["block"], spec["arm"]) for spec in orders) == [
        (block, arm) for block in range(1, seen["interval"]["blocks"] + 1) for arm in "ab"
    ]


@pytest.mark.drawn(0.2)
def test_a_trial_that_stands_still_leaves_the_ratio_of_the_others(items: Command) -> None:
    """b sleeps while a file is there, which is for the whole of block 3."""
    # The server runs without the rights of the test, whose own folder nobody else may enter.
    stop = Path(gettempdir()) / f"pgclinic-stop-{os.getpid()}"
    stop.unlink(missing_ok=True)
    (items.folder / "sleeper.sql").write_text(
        f"\\set id random(1, {ROWS})\n"
        f"select word, pg_sleep(60 * count(size)) from items, pg_stat_file('{stop}', true) as f(size)\n"
        "where id = :id group by word;\n"
    )
    quick = ("--measure", "2s", "--warm-up", "0", "--blocks", "7", "-c", "2", "--seed", "3", "--no-calibrate")
    process = items.start(
        "compare",
        "--a",
        "script=find.sql",
        "--b",
        "script=sleeper.sql",
        "--schema",
        "schema.sql",
        "--sequential",
        *quick,
    )
    wait_for(lambda: len(list(items.runs.glob("*/trials/*/record.json"))) >= 4, 180)
    stop.touch(mode=0o644)
    wait_for(lambda: len(list(items.runs.glob("*/trials/*/record.json"))) >= 6, 180)
    stop.unlink()
    process.communicate(timeout=240)
    judged = json.loads(items.run("study", "judge", str(items.only_run()), "--json").stdout)["comparison"]
    facts = next(one["facts"] for one in judged["doubts"] if one["kind"] == "stalled_trial")
    by_arm = {one["arm"]: one["stalled"] for one in facts["arms"]}
    # A machine that others keep busy explains a stall, and then block 3 was run again.
    assert by_arm["a"] == 0
    assert by_arm["b"] + len(facts["repeated"]) == 1
    if by_arm["b"]:
        assert facts["running"]["blocks"] == 6
        assert 0.1 < facts["running"]["ratio"] < 10.0
        assert judged["interval"]["low"] < facts["running"]["low"]
        assert "without a stall the ratio is" in items.run("study", "judge", str(items.only_run())).stdout
