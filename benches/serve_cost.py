#!/usr/bin/env python3
"""What ``pgclinic serve`` costs: the time to the first paint in Chromium, and the CPU of its process beside a run.

A directory of many runs, a run with an hour of seconds that is being written, and the same when it has ended. Paint is
that of the browser (PerformancePaintTiming), each page opened several times in a new context; the process that writes
the run appends a second each second, and one page follows it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.checkups import SICK
from fixtures.chromium import ARGUMENTS, CHROMIUM
from fixtures.kept_runs import PLAN, STUDY, kept_checkup, kept_study
from fixtures.live_run import now_us, stage
from fixtures.planned import judge
from fixtures.records import StudyRun, run_info
from fixtures.served import Served, served
from pgclinic.model.event import SecondMeasured
from pgclinic.store.directory_lock import directory_lock
from pgclinic.store.run_folder import RunFolder

PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
HOUR_S = 3600


def many_runs(parent: Path, amount: int) -> None:
    """Half of them studies with their trials, half checkups."""
    study, checkup = kept_study(parent, "study"), kept_checkup(parent, SICK)
    RunFolder(study).write_verdict(judge(STUDY, StudyRun().make()[0]))
    for number in range(amount - 2):
        shutil.copytree(study if number % 2 else checkup, parent / f"run-{number:04}")


def long_run(parent: Path) -> RunFolder:
    """A study whose trials have an hour of seconds together."""
    blocks = HOUR_S // 50
    study = StudyRun(blocks=blocks)
    folder = RunFolder.create(parent, "hour", replace(run_info(), started_epoch_us=now_us() - HOUR_S * 10**6), PLAN)
    trials, seconds = study.make()
    for record in trials:
        folder.add_trial(record)
        folder.add_event(stage(record, "measuring"))
        for second in (second for second in seconds if second.trial == record.spec.number):
            folder.add_event(SecondMeasured(second=second))
    return folder


def paints(address: str, times: int) -> list[float]:
    """Milliseconds to the first paint with content, each time in a new context."""
    from playwright import sync_api

    found = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for _ in range(times):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(address)
            page.wait_for_function(PAINT)
            found.append(round(page.evaluate(PAINT), 1))
            page.context.close()
        browser.close()
    return found


def cpu_s(pid: int) -> float:
    """CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(site: Served, folder: RunFolder, path: str, measured_s: float) -> float:
    """The share of one core while one page is open and the run gets a second each second."""
    from playwright import sync_api

    record, second = StudyRun().make()[0][0], StudyRun().make()[1][0]
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.wait(1.0):
            number += 1
            folder.add_event(SecondMeasured(second=replace(second, trial=record.spec.number, second=number)))

    writer = threading.Thread(target=write)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(f"{site.address}{path}")
        writer.start()
        time.sleep(3)
        used_s, began_s = cpu_s(site.process.pid), time.monotonic()
        time.sleep(measured_s)
        share = (cpu_s(site.process.pid) - used_s) / (time.monotonic() - began_s)
        done.set()
        writer.join()
        browser.close()
    return round(share, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    result: dict[str, object] = {"runs": options.runs, "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as place:
        few, many = Path(place) / "few", Path(place) / "many"
        many_runs(many, options.runs)
        folder = long_run(few)
        with served(many) as site:
            began_s = time.monotonic()
            site.get("/")
            result["first_answer_s"] = round(time.monotonic() - began_s, 2)
            result["list_paint_ms"] = paints(f"{site.address}/", options.times)
        with ExitStack() as written, served(few) as site:
            written.enter_context(directory_lock(folder.path))
            assert 'id="now"' in site.get("/runs/hour")[1]
            result["live_paint_ms"] = paints(f"{site.address}/runs/hour", options.times)
            result["followed_share"] = cost(site, folder, "/runs/hour", options.seconds)
            written.close()
            result["report_paint_ms"] = paints(f"{site.address}/runs/hour", options.times)
        shutil.move(folder.path, many / "hour")
        folder = RunFolder(many / "hour")
        with directory_lock(folder.path), served(many) as site:
            site.get("/")
            result["followed_among_many_share"] = cost(site, folder, "/runs/hour", options.seconds)
            used_s, began_s = cpu_s(site.process.pid), time.monotonic()
            time.sleep(10)
            result["nobody_looks_share"] = round((cpu_s(site.process.pid) - used_s) / (time.monotonic() - began_s), 4)
    result["load_after"] = os.getloadavg()[0]
    for name, value in result.items():
        median = f", median {statistics.median(value)}" if isinstance(value, list) else ""
        print(f"{name}: {value}{median}")
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
