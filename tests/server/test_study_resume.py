"""A run that was cut off is gone on with: nothing that was finished is repeated, and nothing is measured otherwise."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.command import PATIENCE, Command, alive, postmaster_below, wait_for
from fixtures.planned import planned_blocks
from pgclinic.model.calibration import Refusal
from pgclinic.model.output import StudyOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.report.words.refusals import refusal_words
from pgclinic.study.duration import BLOCKS_MAX


def finished(command: Command) -> list[Path]:
    return list(command.runs.glob("*/trials/*/record.json"))


def cut_off(command: Command, number: signal.Signals, *, after_trials: int = 1) -> Path:
    """A run that got a signal while a later trial measured."""
    process = command.start("study", "run", command.study(free_s=2, held_s=2), "--seed", "5")
    wait_for(lambda: len(finished(command)) >= after_trials, 90)
    before = seconds_written(command)
    wait_for(lambda: seconds_written(command) > before, 60)
    postmaster = postmaster_below(process.pid)
    process.send_signal(number)
    process.communicate(timeout=30 * PATIENCE)
    if postmaster is not None:
        wait_for(lambda: not alive(postmaster), 20)
    return command.only_run()


def seconds_written(command: Command) -> int:
    return sum(path.read_bytes().count(b'"event":"second"') for path in command.runs.glob("*/events.jsonl"))


def resumed(command: Command, run: Path, *options: str, code: int = 4) -> dict[str, Any]:
    done = command.run("study", "run", "--resume", str(run), "--json", *options, timeout=180)
    assert done.returncode == code, done.stderr
    assert msgspec.json.decode(done.stdout, type=StudyOutput).run == str(run)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def order_of(records: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(record["spec"]["block"], record["spec"]["arm"]) for record in records]


def planned_order(run: Path) -> list[tuple[int, str]]:
    plan = msgspec.json.decode((run / "plan.json").read_bytes(), type=ExperimentPlan)
    return [(spec.block, spec.arm) for block in planned_blocks(plan) for spec in block]


@pytest.mark.drawn(0.6)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_cut_off_is_finished_in_its_own_order(command: Command, number: signal.Signals) -> None:
    run = cut_off(command, number)
    kept = {path: path.read_bytes() for path in finished(command)}
    assert 1 <= len(kept) < 4
    before = json.loads((run / "run.json").read_text())
    answer = resumed(command, run)
    assert (answer["verdict"]["trials_done"], answer["verdict"]["trials_failed"]) == (4, 0)
    assert {path: path.read_bytes() for path in kept} == kept, "what was finished stays as it was"
    records = command.records()
    assert order_of(records) == planned_order(run)
    numbers = [record["spec"]["number"] for record in records]
    assert numbers == sorted(set(numbers))
    after = json.loads((run / "run.json").read_text())
    (moment,) = after.pop("resumed_epoch_us")
    assert moment > before["started_epoch_us"]
    assert before.pop("resumed_epoch_us") == []
    assert after == before
    assert {record["spec"]["load"]["seed"] for record in records[:2]} == {records[0]["spec"]["load"]["seed"]}
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    measured = {event["second"]["trial"] for event in events if event["event"] == "second"}
    assert measured >= set(numbers)
    assert (run / "report.html").is_file()


@pytest.mark.drawn(0.2)
def test_a_finished_run_has_nothing_left_to_run(command: Command) -> None:
    first = command.run("study", "run", command.study(free_s=1, held_s=1), "--json", timeout=180)
    again = resumed(command, command.only_run(), code=first.returncode)
    assert again["verdict"] == json.loads(first.stdout)["verdict"]
    assert len(finished(command)) == 4


@pytest.fixture
def small_runs(command: Command) -> Iterator[Path]:
    """A folder for runs on a file system of its own, of 2 MB. Root only."""
    command.runs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(command.runs)], check=True)
    try:
        yield command.runs
    finally:
        subprocess.run(["umount", "-l", str(command.runs)], check=True)


@pytest.mark.drawn(0.2)
def test_a_disk_that_was_full_costs_no_finished_trial(command: Command, small_runs: Path) -> None:
    process = command.start("study", "run", command.study(free_s=2, held_s=2))
    wait_for(lambda: finished(command), 90)
    ballast = small_runs / "ballast"
    with ballast.open("wb") as out:
        free = os.statvfs(small_runs)
        out.write(b"x" * (free.f_bavail * free.f_frsize))
    _, err = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 2
    assert "no room left" in err
    assert "--resume" in err
    ballast.unlink()
    assert resumed(command, command.only_run())["verdict"]["trials_done"] == 4


@pytest.mark.drawn(0.2)
def test_another_machine_is_refused_or_leaves_a_doubt(command: Command) -> None:
    run = cut_off(command, signal.SIGINT)
    info = json.loads((run / "run.json").read_text())
    info["machine"]["cpu_model"] = "another processor"
    (run / "run.json").write_text(json.dumps(info))
    refused = command.run("study", "run", "--resume", str(run))
    assert refused.returncode == 1
    assert "another processor" in refused.stderr
    assert "--pool-machines" in refused.stderr
    assert len(finished(command)) < 4
    answer = resumed(command, run, "--pool-machines")
    assert answer["verdict"]["trials_done"] == 4
    assert answer["verdict"]["doubts"][0]["kind"] == "different_machine"
    judged = command.run("study", "judge", str(run), "--json")
    assert json.loads(judged.stdout)["verdict"] == answer["verdict"]


@pytest.mark.drawn(0.2)
def test_what_cannot_be_resumed_is_refused_in_words(command: Command) -> None:
    run = cut_off(command, signal.SIGINT)
    kept = len(finished(command))
    other = run.parent / "empty"
    other.mkdir()
    for arguments, words in (
        (["--resume", str(other)], "is not a run folder"),
        (["--resume", str(run), "--seed", "9"], "omit these options"),
        (["global-counters", "--resume", str(run)], "is not a run of global-counters"),
        (["--resume", str(run), "--dsn", "host=127.0.0.1 port=1"], "was started on"),
        ([], "no study is named"),
    ):
        done = command.run("study", "run", *arguments)
        assert done.returncode == 1, done.stderr
        assert words in done.stderr
    (run / "plan.json").rename(run / "plan.away")
    done = command.run("study", "run", "--resume", str(run))
    assert done.returncode == 2
    assert "cannot read" in done.stderr and "plan.json" in done.stderr
    other.rmdir()
    assert len(finished(command)) == kept


@pytest.mark.drawn(0.2)
def test_a_run_that_is_still_written_is_left_alone(command: Command) -> None:
    process = command.start("study", "run", command.study(free_s=4, held_s=4))
    wait_for(lambda: finished(command), 90)
    second = command.run("study", "run", "--resume", str(command.only_run()))
    assert second.returncode == 1
    assert "another command is writing" in second.stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30 * PATIENCE)


@pytest.mark.drawn(0.2)
def test_a_calibration_that_refuses_ends_the_study_before_its_first_block(command: Command) -> None:
    file = Path(command.study(free_s=1, held_s=1))
    file.write_text(file.read_text().replace("[profiles.quick]", "[profiles.quick]\ncalibration_s = 6", 1))
    done = command.run("study", "run", str(file), "--json", timeout=180)
    assert done.returncode == 4, done.stderr
    run = command.only_run()
    calibration = json.loads((run / "calibration.json").read_text())
    # Four seconds are too few on any machine; on one that others load heavily they are refused for that.
    assert calibration["refusal"]["kind"] in {"too_short", "starved_cpu"}
    words = refusal_words(msgspec.convert(calibration["refusal"], Refusal))
    assert f"not run: {words.text}" in done.stderr
    assert words.advice in done.stderr
    records = command.records()
    assert [record["spec"]["block"] for record in records] == [0] * 6
    assert {record["spec"]["arm"] for record in records} == {"free"}
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["trials_done"] == 0
    assert verdict["doubts"][0]["kind"] == "calibration_refused"
    judged = command.run("study", "judge", str(run), "--json")
    assert json.loads(judged.stdout)["verdict"] == verdict


@pytest.mark.drawn(0.2)
def test_a_study_that_needs_more_blocks_prints_the_command_and_it_works(command: Command) -> None:
    first = command.run("study", "run", command.study(free_s=1, held_s=1), timeout=180)
    run = command.only_run()
    needed = re.search(r"needs +about ([\d,]+) more block", first.stdout)
    # More blocks than a run may have are no command: on a busy machine both arms may look alike in so short a time.
    if needed is not None and int(needed[1].replace(",", "")) + 2 <= BLOCKS_MAX:
        assert f"pgclinic study run --resume runs/{run.name} --blocks " in first.stdout
    refused = command.run("study", "run", "--resume", str(run), "--budget", "+5m")
    assert (refused.returncode, "all 2 blocks of the plan have run" in refused.stderr) == (1, True), refused.stderr
    done = command.run("study", "run", "--resume", str(run), "--blocks", "3", "--json", timeout=180)
    assert done.returncode in (0, 3, 4), done.stderr
    assert "block 3 of at most 3" in done.stderr
    assert json.loads(done.stdout)["verdict"]["trials_done"] == 6
    judged = command.run("study", "judge", str(run), "--json")
    assert json.loads(judged.stdout)["verdict"] == json.loads(done.stdout)["verdict"]
    alone = command.run("study", "run", "global-counters", "--blocks", "3")
    assert (alone.returncode, "--blocks needs --resume" in alone.stderr) == (1, True)
