"""A load that is kept is written while it runs: it is listed, followed and, when it ends, shown with its report."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from fixtures.command import Command, wait_for
from fixtures.served import served
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.event import Event, SecondMeasured
from pgclinic.pg.dsn import dsn_of
from pgclinic.store.run_folder import read_lines, read_run

LOAD = ("bench", "--lab", "-S", "-c", "2", "--warm-up", "1s", "--set", "work_mem=8MB", "--runs", "runs")


def folder_of(command: Command) -> Path:
    """The run folder of the load, as soon as it is there."""
    return wait_for(lambda: next((found.parent for found in command.runs.glob("*/run.json")), None), 120)


def test_a_load_is_followed_from_the_list_to_its_report(command: Command) -> None:
    command.runs.mkdir()
    with served(command.runs) as site:
        load = command.start(*LOAD, "-T", "6", "--observe")
        name = folder_of(command).name
        wait_for(lambda: f'value="{name}"' in site.get("/?answer=running&kind=bench")[1])
        points: list[list[float]] = []
        now: list[str] = []
        with urllib.request.urlopen(f"{site.address}/runs/{name}/events?state=running-0&seen=0", timeout=60) as events:
            for line in events:
                if line.startswith(b"data: {"):
                    message = json.loads(line[6:])
                    points += message["points"]
                    now.append(message["parts"].get("now", ""))
                if line.startswith(b"event: turned"):
                    break
        assert load.wait(60) == 0
        page = site.get(f"/runs/{name}")[1]
    # What is left at the end may be a second more.
    assert len(points) in (6, 7)
    assert all(tps > 0 for _, _, tps in points)
    # The first ones are at seconds since the run began: connecting and the warm-up are before them.
    assert points[0][0] > 1
    assert any("measuring" in part and "Latency p99" in part and "Time left" in part for part in now)
    # A bench has neither blocks nor arms.
    assert not any("Arm" in part or "block" in part for part in now)
    assert "Why the figure is what it is" in page
    shown = command.run("runs", "show", f"runs/{name}").stdout
    assert "settings   work_mem = 8MB" in shown


def test_a_load_that_is_killed_keeps_its_seconds_and_has_no_answer(command: Command, binaries: Binaries) -> None:
    # A server of its own, so that the kill leaves none behind.
    with start_server(binaries, settings={}) as running:
        load = command.start(
            "bench", "-n", "-f", script(command), "-T", "600", "--runs", "runs", dsn_of(running.server)
        )
        folder = folder_of(command)
        events = folder / "events.jsonl"
        wait_for(lambda: events.is_file() and b'"event":"second"' in events.read_bytes())
        load.send_signal(signal.SIGKILL)
        load.wait(60)
    assert "no answer yet" in command.run("runs", "show", str(folder)).stdout
    judged = command.run("study", "judge", str(folder))
    assert judged.returncode == 1
    assert "has no result" in judged.stderr


def script(command: Command) -> str:
    file = command.folder / "one.sql"
    file.write_text("select 1;\n", encoding="utf-8")
    return str(file)


@pytest.mark.drawn(0.2)
def test_of_a_search_the_seconds_of_the_trial_are_those_of_its_load(command: Command) -> None:
    done = command.run(*LOAD, "-T", "1", "--find-rate", "p90<600ms", "--observe")
    assert done.returncode == 0, done.stderr
    folder = folder_of(command)
    stored = read_run(folder)
    (trial,) = stored.trials
    assert {second.trial for second in stored.seconds} == {trial.spec.number}
    loads = {
        event.second.trial for event in read_lines(folder / "events.jsonl", Event) if isinstance(event, SecondMeasured)
    }
    assert loads == set(range(1, max(loads) + 1))
    assert trial.spec.number in loads - {1}
