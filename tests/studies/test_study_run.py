"""A study from its file to its report, on real servers of every generation."""

from __future__ import annotations

import itertools
import json

import pytest

from fixtures.command import Command
from fixtures.drawn import drawn_majors


@pytest.mark.parametrize("version", ["18", *drawn_majors("study", ["13", "14", "17"])])
def test_a_study_runs_from_file_to_report(command: Command, version: str) -> None:
    done = command.run(
        "study", "run", command.study(free_s=2, held_s=2), "--version", version, "--seed", "7", "--json", timeout=240
    )
    assert done.returncode == 4, done.stderr  # two blocks can never decide
    answer = json.loads(done.stdout)
    assert answer["verdict"]["server_version"].startswith(version)
    assert answer["verdict"]["trials_done"] == 4
    assert answer["verdict"]["trials_failed"] == 0

    folder = command.only_run()
    assert folder.name.endswith("-global-counters-7")
    info = json.loads((folder / "run.json").read_text())
    assert info["seed"] == 7
    assert info["tool"]["engine_profile"] == "release"
    assert "<html" in (folder / "report.html").read_text()

    by_arm: dict[str, list[dict[str, float]]] = {"free": [], "held": []}
    for record in command.records():
        assert record["outcome"] == "done", record.get("failure")
        assert record["load"]["transactions"] > 100
        assert record["load"]["failed"] == 0
        assert record["spec"]["server"]["version"].startswith(version)
        by_arm[record["spec"]["arm"]].append(record["counters"])
    for counter in ("buffer_hits_per_transaction", "probe_pages"):
        held, free = (min(row[counter] for row in by_arm[arm]) for arm in ("held", "free"))
        assert held > free, counter

    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    seconds = [event["second"] for event in events if event["event"] == "second"]
    assert {second["trial"] for second in seconds} == {1, 2, 3, 4}
    assert all(second["tps"] > 0 for second in seconds)


@pytest.mark.drawn(0.2)
def test_a_run_is_judged_again_without_a_server(command: Command) -> None:
    first = command.run("study", "run", command.study(free_s=2, held_s=2), "--seed", "7", "--json")
    folder = command.only_run()
    (folder / "verdict.json").unlink()
    (folder / "report.html").unlink()
    again = command.run("study", "judge", str(folder), "--json")
    assert again.returncode == first.returncode
    once = {file: (folder / file).read_bytes() for file in ("verdict.json", "report.html", "run.json", "plan.json")}
    assert command.run("study", "judge", str(folder), "--json").stdout == again.stdout
    assert {file: (folder / file).read_bytes() for file in once} == once
    assert json.loads(again.stdout)["verdict"] == json.loads(first.stdout)["verdict"]
    assert (folder / "report.html").is_file()
    in_words = command.run("study", "judge", str(folder))
    # Two blocks decide nothing; on a machine that others load heavily they are refused besides.
    assert in_words.stdout.startswith(("INCONCLUSIVE", "INVALID"))
    assert "\x1b" not in in_words.stdout


@pytest.mark.drawn(0.2)
def test_settings_reach_the_server_and_the_record(command: Command) -> None:
    done = command.run("study", "run", command.study(free_s=2, held_s=2), "--set", "work_mem=7MB", "--json")
    assert done.returncode == 4, done.stderr
    assert all(record["settings"] == {"work_mem": "7MB"} for record in command.records())


@pytest.mark.drawn(0.2)
def test_an_existing_server_is_left_as_it_was(command: Command) -> None:
    started = command.run("lab", "start", "--name", "patient-of-test", "--json")
    assert started.returncode == 0, started.stderr
    try:
        dsn = json.loads(started.stdout)["dsn"]
        before = command.run("lab", "psql", "patient-of-test", "--", "-Atc", "select datname from pg_database").stdout
        done = command.run("study", "run", command.study(free_s=2, held_s=2), "--dsn", dsn, "--json")
        assert done.returncode == 4, done.stderr
        assert {record["outcome"] for record in command.records()} == {"done"}
        after = command.run("lab", "psql", "patient-of-test", "--", "-Atc", "select datname from pg_database").stdout
        assert after == before
        refused = command.run("study", "run", command.study(), "--dsn", dsn, "--set", "shared_buffers=8MB")
        assert refused.returncode == 1
        assert "shared_buffers cannot be set for a session" in refused.stderr
    finally:
        assert command.run("lab", "stop", "patient-of-test").returncode == 0


@pytest.mark.drawn(0.2)
def test_two_commands_never_measure_at_the_same_time(command: Command) -> None:
    file = command.study(free_s=1, held_s=1)
    both = [command.start("study", "run", file, "--seed", seed, "--json") for seed in ("1", "2")]
    for process in both:
        _, err = process.communicate(timeout=180)
        assert process.returncode == 4, err
    trials = []
    for folder in command.runs.iterdir():
        for path in folder.glob("trials/*/record.json"):
            record = json.loads(path.read_text())
            assert record["outcome"] == "done", record["failure"]
            start = record["load"]["started_epoch_us"] / 1e6
            trials.append((start, start + record["load"]["measured_s"]))
    trials.sort()
    assert len(trials) == 8
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(trials))
