"""The ladder of slow settings in small: one warehouse, a few terminals, seconds instead of minutes, real servers."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from fixtures.command import Command, postmaster_below, wait_for
from pgclinic.study.read import study_text

ALL_RUNGS = ("base", "cache-8mb", "cache", "autovacuum", "wal", "planner", "io")


def small_ladder(folder: Path, ladder: tuple[str, ...] = ALL_RUNGS, *, extra: str = "") -> str:
    """These steps of the shipped study, each for two seconds; ``extra`` are further arms that the file is given."""
    text = study_text("slow-by-configuration")
    text = text.replace("warehouses = 10\n", "warehouses = 1\n").replace("clients = 100", "clients = 8")
    text = text.replace("warm_up_s = 5", "warm_up_s = 0.5").replace(
        "blocks_min = 4\nblocks_max = 4\nbudget_s = 840", "blocks_min = 2\nblocks_max = 2\nbudget_s = 840"
    )
    quick = ", ".join(f"{ladder_step} = 2" for ladder_step in ladder)
    text = re.sub(r"measure_s = \{ base = 8.*\}", f"measure_s = {{ {quick} }}", text)
    file = folder / "ladder.toml"
    file.write_text(text.replace("[arms.cache-8mb]", f"{extra}[arms.cache-8mb]"), encoding="utf-8")
    return str(file)


def by_arm(command: Command, arm: str) -> list[dict[str, Any]]:
    return [record for record in command.records() if record["spec"]["arm"] == arm]


def counters(command: Command, arm: str) -> dict[str, float]:
    rows = [record["counters"] for record in by_arm(command, arm)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


@pytest.mark.drawn(0.25)
def test_every_rung_has_its_figures_and_its_mechanism(command: Command) -> None:
    done = command.run("study", "run", small_ladder(command.folder), "--seed", "3", "--json", timeout=280)
    answer = json.loads(done.stdout)
    verdict = answer["verdict"]
    assert (verdict["trials_done"], verdict["trials_failed"]) == (14, 0), done.stderr
    arms = {arm["arm"]: arm for arm in verdict["arms"]}
    assert list(arms) == ["base", "cache-8mb", "cache", "autovacuum", "wal", "planner", "io"]
    for arm in arms.values():
        assert arm["exposure_s"] == pytest.approx(4.0, abs=0.5)
        assert arm["statements_per_s"] > 0
        # One step has its figure in words only.
        assert (arm["published_tps"] is None) == (arm["arm"] == "cache")
        assert arm["throughput"] >= 0
    assert arms["base"]["tps"] > 10 * arms["planner"]["tps"]
    # Eight terminals are never without a transaction in a closed loop.
    assert arms["io"]["running"] > 0

    base, cache = counters(command, "base"), counters(command, "cache")
    assert cache["hit_ratio"] < base["hit_ratio"]
    assert cache["read_calls_per_transaction"] > 3 * base["read_calls_per_transaction"]
    assert counters(command, "autovacuum")["vacuums_per_s"] > 0
    assert (base["probe_sequential_scans"], counters(command, "planner")["probe_sequential_scans"]) == (0, 1)
    assert {claim["claim"] for claim in verdict["claims"]} >= {"the-whole-ladder", "no-index", "one-reader"}
    total = verdict["claims"][0]
    assert total["interval"]["ratio"] < 0.1
    assert len(total["published_others"]) == 3
    page = (command.only_run() / "report.html").read_text()
    assert "staircase" in page
    assert "BenchBase" in page


@pytest.mark.drawn(0.2)
def test_a_rung_that_refuses_and_a_server_that_is_killed_do_not_end_the_ladder(command: Command) -> None:
    extra = '[arms.refused]\nabout = "no such pages"\nbuilds_on = "base"\nsettings = { huge_pages = "on" }\n'
    extra += "published_tps = 5000\n"
    ladder = ("base", "cache-8mb", "planner", "refused")
    process = command.start("study", "run", small_ladder(command.folder, ladder, extra=extra), "--seed", "3", "--json")
    wait_for(lambda: seconds_of_a_good_trial(command, after=3), 120)
    os.kill(int(wait_for(lambda: postmaster_below(process.pid))), signal.SIGKILL)
    out, err = process.communicate(timeout=280)
    verdict = json.loads(out)["verdict"]
    assert (verdict["trials_done"], verdict["trials_failed"]) == (5, 3), err
    refused = next(arm for arm in verdict["arms"] if arm["arm"] == "refused")
    assert (refused["trials"], refused["commits"]) == (0, 0)
    assert "huge pages" in refused["refusal"] or "shared memory" in refused["refusal"]


def seconds_of_a_good_trial(command: Command, after: int) -> bool:
    """Whether a trial that works is measuring, and so many have ended before it."""
    ended = {path.parent.name for path in command.runs.glob("*/trials/*/record.json")}
    lines = [line for path in command.runs.glob("*/events.jsonl") for line in path.read_text().splitlines()]
    seconds = [event["second"] for line in lines if (event := json.loads(line))["event"] == "second"]
    return len(ended) >= after and any(str(second["trial"]) not in ended for second in seconds)


@pytest.mark.drawn(0.25)
def test_an_older_branch_climbs_as_far_as_it_can(command: Command) -> None:
    ladder = ("base", "wal", "planner", "io")
    done = command.run("study", "run", small_ladder(command.folder, ladder), "--version", "14", "--json", timeout=280)
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["trials_failed"] == 0, done.stderr
    assert [arm["arm"] for arm in verdict["arms"]][-1] == "planner"
    assert verdict["doubts"][0]["kind"] == "setting_left_out"
    left_out = {one["name"]: one["value"] for one in verdict["doubts"][0]["facts"]["settings"]}
    assert left_out["io_workers"] == "1"
    settings = by_arm(command, "wal")[0]["spec"]["settings"]
    assert "summarize_wal" not in settings
    assert settings["track_wal_io_timing"] == "on"
