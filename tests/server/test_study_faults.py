"""What goes wrong in the middle: nothing is left running, no finished trial is lost, the words say what happened."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fixtures.command import PATIENCE, Command, alive, descendants, postmaster_below, wait_for
from pgclinic.store.run_folder import read_run


def seconds_written(command: Command) -> int:
    return sum(path.read_bytes().count(b'"event":"second"') for path in command.runs.glob("*/events.jsonl"))


def measuring(command: Command, process: subprocess.Popen[str], after_trials: int = 0) -> int:
    """Wait until a trial measures, and give the pid of its server."""
    wait_for(lambda: len(list(command.runs.glob("*/trials/*/record.json"))) >= after_trials, 60)
    before = seconds_written(command)
    wait_for(lambda: seconds_written(command) > before or process.poll() is not None, 60)
    assert process.poll() is None, process.communicate()
    return int(wait_for(lambda: postmaster_below(process.pid)))


@pytest.mark.drawn(0.2)
def test_a_killed_server_fails_its_trial_and_the_study_goes_on(command: Command) -> None:
    process = command.start("study", "run", command.study(free_s=4, held_s=4), "--json")
    os.kill(measuring(command, process), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    verdict = json.loads(out)["verdict"]
    assert (verdict["trials_done"], verdict["trials_failed"]) == (3, 1), err
    assert process.returncode == 4
    (failed,) = [record for record in command.records() if record["outcome"] == "failed"]
    assert failed["failure"]
    assert "failed" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_everything_and_keeps_what_was_finished(command: Command, number: signal.Signals) -> None:
    process = command.start("study", "run", command.study())
    postmaster = measuring(command, process, after_trials=1)
    below = descendants(process.pid)
    process.send_signal(number)
    out, err = process.communicate(timeout=30 * PATIENCE)
    assert process.returncode == 128 + number, err
    assert out == ""
    assert "1 finished trial is kept" in err
    assert not alive(postmaster)
    assert not [pid for pid in below if alive(pid)]
    assert len(read_run(command.only_run()).trials) == 1
    assert command.run("study", "judge", str(command.only_run())).returncode == 4


def test_a_killed_command_leaves_no_server(command: Command) -> None:
    process = command.start("study", "run", command.study())
    postmaster = measuring(command, process)
    below = descendants(process.pid)
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(postmaster), 10)
    wait_for(lambda: not [pid for pid in below if alive(pid)], 10)
    said = command.run("lab", "list")
    assert said.returncode == 0
    # The next command tells what it found, unless the guard beside the server had removed all of it by then.
    assert "pgclinic-" not in said.stdout


def burn(until: float) -> None:
    while time.monotonic() < until:
        pass


@pytest.mark.drawn(0.2)
def test_a_starved_machine_raises_a_doubt(command: Command) -> None:
    end = time.monotonic() + 60
    burners = [multiprocessing.Process(target=burn, args=(end,)) for _ in range(2 * (os.cpu_count() or 1))]
    for burner in burners:
        burner.start()
    try:
        done = command.run("study", "run", command.study(), "--json")
    finally:
        for burner in burners:
            burner.kill()
            burner.join()
    verdict = json.loads(done.stdout)["verdict"]
    assert "starved_cpu" in {doubt["kind"] for doubt in verdict["doubts"]}, done.stderr
    doubt = next(doubt for doubt in verdict["doubts"] if doubt["kind"] == "starved_cpu")
    assert doubt["share"] > 0.15
    assert doubt["facts"]["obtained_s"] < doubt["facts"]["available_s"]
    for record in command.records():
        assert record["cpu"]["others_s"] > record["cpu"]["elapsed_s"] * 0.3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--version", "13.99"], "13."),
        (["--version", "banana"], "banana"),
        (["--dsn", "host=127.0.0.1 port=1 user=nobody"], "cannot connect"),
        (["--dsn", "postgresql://u:secret-word@127.0.0.1:1/x"], "cannot connect"),
        (["--set", "work_memm=4MB"], "did you mean work_mem"),
        (["--set", "work_mem=1kB"], "work_mem"),
        (["--bindir", "/nowhere"], "/nowhere"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_done(
    command: Command, arguments: list[str], words: str
) -> None:
    done = command.run("study", "run", command.study(), *arguments)
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    assert "secret-word" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not command.runs.exists()


def test_a_script_that_cannot_be_parsed_is_refused(command: Command) -> None:
    file = Path(command.study())
    file.write_text(file.read_text().replace("random(1,100)", "random(1,,100)"), encoding="utf-8")
    done = command.run("study", "run", str(file))
    assert done.returncode == 1
    assert "update:1" in done.stderr
    assert not command.runs.exists()


def test_runs_that_cannot_be_written_are_refused(command: Command) -> None:
    (command.folder / "file").write_text("not a folder")
    done = command.run("study", "run", command.study(), "--runs", "file/runs")
    assert done.returncode == 2
    assert "cannot write the run" in done.stderr
