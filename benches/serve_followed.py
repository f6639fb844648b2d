#!/usr/bin/env python3
"""``pgclinic serve`` while ``pgclinic study run all --quick`` runs: what two pages in Chromium show, and what it costs.

One page stays on the list, the other one follows each study from its start to its report. Delays are between the time
of a file in the run folder and the moment at which the page has drawn it; CPU and memory are those of the process that
serves.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.chromium import ARGUMENTS, CHROMIUM
from fixtures.served import Served, served
from serve_cost import cpu_s

if TYPE_CHECKING:
    from playwright import sync_api

#: When each run was first seen in the list, in the clock of the files.
LISTED = """
window.listed = {};
addEventListener("DOMContentLoaded", () => {
  const seen = () => document.querySelectorAll("#rows a").forEach((a) => (window.listed[a.textContent] ??= Date.now()));
  new MutationObserver(seen).observe(document.body, { childList: true, subtree: true });
  seen();
});
"""
#: Points that came as events; the chart does not say how many it has.
COUNTED = """
window.points = 0;
const Plain = window.EventSource;
window.EventSource = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (event) => (window.points += JSON.parse(event.data).points.length));
  }
};
"""
LOOK = """[
  window.points,
  document.querySelectorAll("#trials tbody tr").length,
  document.getElementById("now") && document.getElementById("now").innerText,
]"""
LOOK_MS = 500
MEMORY_EVERY_S = 30.0


@dataclass
class Followed:
    """What the page of one study did. Delays in s; ``points`` came as events, ``changes`` are those of where it stands,
    ``stages`` all that it said the study did."""

    name: str
    listed_after_s: float = 0.0
    points: int = 0
    trials_shown: int = 0
    changes: int = 0
    stages: list[str] = field(default_factory=list)
    report_after_s: float | None = None
    word: str | None = None


@dataclass
class Seen:
    """All that was seen: the studies, messages of the console, and the memory of the process over time."""

    studies: list[Followed] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    heap_mb: list[float] = field(default_factory=list)


def memory_mb(pid: int) -> float:
    """Anonymous memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024, 1)


def opened(browser: sync_api.Browser, seen: Seen, script: str) -> sync_api.Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(script)
    page.on("console", lambda message: seen.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    return page


def follow(site: Served, runs: Path, command: subprocess.Popen[bytes], browser: sync_api.Browser) -> Seen:
    from playwright.sync_api import Error

    seen, known = Seen(), dict[str, Followed]()
    listed, live = opened(browser, seen, LISTED), opened(browser, seen, COUNTED)
    listed.goto(site.address)
    current: Followed | None = None
    memory_at_s, stage = 0.0, ""
    while True:
        is_over = command.poll() is not None
        for name, at_ms in sorted(listed.evaluate("window.listed").items(), key=lambda one: one[1]):
            if name in known:
                continue
            if current is not None:
                wait_for_report(live, runs / current.name, current)
            written_s = (runs / name / "run.json").stat().st_mtime
            current = known[name] = Followed(name, listed_after_s=round(at_ms / 1000 - written_s, 2))
            seen.studies.append(current)
            live.goto(f"{site.address}/runs/{name}")
        if current is not None:
            # The page may be turning to the report just now.
            with suppress(Error):
                stage = look(live, current, stage)
        if time.monotonic() - memory_at_s >= MEMORY_EVERY_S:
            memory_at_s = time.monotonic()
            seen.memory_mb.append(memory_mb(site.process.pid))
            seen.heap_mb.append(round(listed.evaluate("performance.memory.usedJSHeapSize") / 2**20, 1))
        if is_over:
            break
        listed.wait_for_timeout(LOOK_MS)
    if current is not None:
        wait_for_report(live, runs / current.name, current)
    return seen


def look(page: sync_api.Page, study: Followed, before: str) -> str:
    """What the live page has now, and what it says of the stage; the report has none of it."""
    points, rows, now = page.evaluate(LOOK)
    study.points, study.trials_shown = max(study.points, points), max(study.trials_shown, rows)
    if now not in (None, before):
        study.changes += 1
        study.stages = sorted({*study.stages, now.partition("Stage")[2].split("\n")[1]})
    return now or before


def wait_for_report(page: sync_api.Page, folder: Path, study: Followed) -> None:
    """The page turns to the report by itself when the command has left the folder."""
    from playwright.sync_api import Error

    verdict = folder / "verdict.json"
    if not verdict.is_file() or study.word is not None:
        return
    try:
        page.wait_for_selector(".verdict .word", timeout=30_000)
        study.word = page.locator(".verdict .word").first.inner_text()
        # The report is the last file that the command writes.
        study.report_after_s = round(
            page.evaluate(
                "performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime"
            )
            / 1000
            - (folder / "report.html").stat().st_mtime,
            2,
        )
    except Error as error:
        study.word = f"no report: {error.message.splitlines()[0]}"


def main() -> None:
    from playwright import sync_api

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", default=["all"])
    parser.add_argument("--budget", help="time for the trials of each study, such as 1m")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    asked = ["--budget", options.budget] if options.budget else []
    with tempfile.TemporaryDirectory() as place:
        runs = Path(place)
        words = ["study", "run", *options.studies, "--quick", *asked, "--runs", str(runs), "--plain"]
        with served(runs) as site, sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            load_before, began_s, used_s = os.getloadavg()[0], time.monotonic(), cpu_s(site.process.pid)
            command = subprocess.Popen([sys.executable, "-m", "pgclinic", *words], stdin=subprocess.DEVNULL)
            try:
                seen = follow(site, runs, command, browser)
            finally:
                if command.poll() is None:
                    command.send_signal(signal.SIGINT)
                command.wait()
            elapsed_s = time.monotonic() - began_s
            result = {
                "command": " ".join(["pgclinic", *words[:-3]]),
                "exit_code": command.returncode,
                "elapsed_s": round(elapsed_s),
                "load_before": round(load_before, 2),
                "load_after": round(os.getloadavg()[0], 2),
                "serve_share_of_one_core": round((cpu_s(site.process.pid) - used_s) / elapsed_s, 4),
                "serve_memory_mb": seen.memory_mb,
                "list_heap_mb": seen.heap_mb,
                "console": seen.console,
                "studies": [asdict(study) for study in seen.studies],
            }
            browser.close()
    print(json.dumps(result, indent=1))
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
