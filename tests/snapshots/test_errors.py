"""Errors of the command line, each with its hint: what is wrong, and the nearest right value."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.snapshots import Snapshots
from pgclinic.cli.main import run

RUN = ["study", "run", "global-counters"]
A_AND_B = ["compare", "--a", "set:work_mem=4MB", "--b", "set:work_mem=64MB"]
COMMANDS: dict[str, list[list[str]]] = {
    "command": [["studdy"], ["study", "runn"], ["study", "list", "--jsonn"], ["--what"]],
    "study": [
        ["study", "run"],
        ["study", "run", "global-counter"],
        ["study", "show", "no-such"],
        ["study", "show", "nowhere.toml"],
        ["study", "judge", "nowhere"],
        ["study", "new", "Not A Name"],
        [*RUN, "--budget", "soon"],
        [*RUN, "--budget", "1m"],
        [*RUN, "--quick", "--full"],
        [*RUN, "--profile", "demo", "--full"],
        [*RUN, "--profile", "dmo"],
        [*RUN, "--set", "work_mem"],
        [*RUN, "--version", "13", "--bindir", "nowhere"],
        [*RUN, "--seed", "seven"],
        [*RUN, "--blocks", "9"],
        [*RUN, "--allow-writes"],
        [*RUN, "--existing"],
        ["study", "run", "--resume", "nowhere"],
        ["study", "run", "--resume", "nowhere", "--full"],
        ["study", "run", "--resume", "nowhere", "--runs", "elsewhere"],
        [*RUN, "--pool-machines"],
        ["study", "run", "--resume", "nowhere", "--blocks", "5", "--budget", "5m"],
    ],
    "compare": [
        ["compare"],
        ["compare", "--a", "work_mem=4MB"],
        ["compare", "--a", "sett:work_mem=4MB"],
        ["compare", "--a", "set:work_mem"],
        ["compare", "--a", "clients=none"],
        ["compare", "--a", "condition:hold"],
        [*A_AND_B, "--blocks", "2"],
        [*A_AND_B, "--blocks", "8", "--budget", "5m"],
        [*A_AND_B, "--measure", "soon"],
        [*A_AND_B, "--fail-if", "b is slow"],
        [*A_AND_B, "--fail-if", "b.p98>1.1a"],
        [*A_AND_B, "--script", "nowhere.sql"],
        [*A_AND_B, "--script", "builtin:nosuch"],
        [*A_AND_B, "--protocol", "fast"],
        [*A_AND_B, "--junit", "-", "--json"],
        [*A_AND_B, "--junit", "nowhere/report.xml"],
        [*A_AND_B, "--junit", "one", "--markdown", "one"],
        [*A_AND_B, "--from", "study.json"],
        [*A_AND_B, "--existing"],
        [*A_AND_B, "--existing", "--script", "builtin:select-only"],
        [*A_AND_B, "--allow-writes"],
        [*A_AND_B, "--pool-machines"],
        [*A_AND_B, "--resume", "nowhere"],
        ["compare", "--resume", "nowhere"],
    ],
    "tuning": [
        ["assay"],
        ["assay", "nowhere.conf"],
        ["assay", "--set", "work_mem"],
        ["assay", "--set", "work_mem=8MB", "--resume", "nowhere"],
        ["assay", "--resume", "nowhere", "-c", "3"],
        ["assay", "--resume", "nowhere", "--budget", "5m"],
        ["search"],
        ["search", "--worst", "--best"],
        ["search", "--worst", "--p99", "2x"],
        ["search", "--best", "--p99", "fast"],
        ["search", "--best", "--memory", "much"],
        ["search", "--worst", "--allow", "fire"],
        ["search", "--worst", "--resume", "nowhere"],
        ["search", "--resume", "nowhere", "-o", "found.conf", "--force"],
        ["bisect"],
        ["bisect", "builtin:select-only"],
        ["bisect", "builtin:select-only", "--versions", "17"],
        ["bisect", "builtin:select-only", "--resume", "nowhere"],
    ],
    "advise": [
        ["advise"],
        ["advise", "nowhere.twin"],
        ["advise", "nowhere.twin", "--observe", "10s"],
        ["advise", "nowhere.twin", "--max-indexes", "0"],
        ["advise", "nowhere.twin", "-o", "indexes.txt"],
    ],
    "bench": [
        ["bench", "-c", "none"],
        ["bench", "-c", "0"],
        ["bench", "--clients=5"],
        ["bench", "-M", "fast"],
        ["bench", "-b", "nosuch"],
        ["bench", "-f", "nowhere.sql"],
        ["bench", "-i", "-c", "5"],
        ["bench", "-i", "-I", "x"],
        ["bench", "-T", "5", "-t", "5"],
        ["bench", "--lab", "shop"],
        ["bench", "--set", "work_mem=4MB"],
        ["bench", "--warm-up", "soon"],
        ["bench", "--fail-if", "p99 is slow"],
        ["bench", "--fail-if", "p99>50"],
        ["bench", "--find-rate", "tps>5"],
        ["bench", "--find-rate", "p99<20ms", "--rate", "5"],
        ["bench", "--seconds", "rows.csv"],
        ["bench", "--percentiles", "50,101"],
        ["bench", "--random-seed", "seven"],
        ["bench", "--tpcc", "-S"],
        ["bench", "--tpcc", "-s", "3"],
        ["bench", "--tpcc", "-M", "simple"],
        ["bench", "--waits"],
        ["bench", "--tpcc", "--waits"],
        ["bench", "--tpcc", "--convention", "mine"],
        ["bench", "--tpcc", "--isolation", "none"],
    ],
    "checkup": [
        ["checkup"],
        ["checkup", "host=/nowhere", "--observe", "soon"],
        ["checkup", "host=/nowhere", "--from", "snapshot.json"],
        ["checkup", "--from", "nowhere.json"],
        ["checkup", "--from", "nowhere.json", "--observe", "5s"],
        ["checkup", "host=/nowhere", "--fail-on", "warn"],
        ["checkup", "host=/nowhere", "--graph=dott"],
        ["checkup", "host=/nowhere", "--since", "nowhere"],
        ["checkup", "host=/nowhere", "--log", "nowhere.log"],
        ["checkup", "host=/nowhere", "--major", "17"],
        ["checkup", "host=/nowhere", "--json", "--graph"],
        ["checkup", "host=/nowhere", "--markdown", "nowhere/ticket.md"],
        ["checkup", "--print-sql", "--major", "12"],
        ["treat"],
        ["treat", "nowhere", "1"],
    ],
    "lab": [
        ["lab", "start", "--version", "thirteen"],
        ["lab", "start", "--version", "8.4"],
        ["lab", "start", "--set", "work_mem"],
        ["lab", "start", "--bindir", "nowhere"],
        ["lab", "stop"],
        ["lab", "stop", "one", "--all"],
        ["lab", "psql", "one"],
        ["lab", "leftovers", "--drop"],
        ["lab", "memory", "1", "--server", "one", "host=nowhere"],
        ["lab", "memory", "1", "--every", "soon"],
    ],
}


@pytest.mark.usefixtures("fresh_home")
@pytest.mark.parametrize("name", COMMANDS)
def test_errors(name: str, snapshots: Snapshots, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words in COMMANDS[name]:
        code = run(list(words))
        captured = capsys.readouterr()
        assert captured.out == "", words
        text = captured.err.replace(str(Path.cwd()), "FOLDER")
        said.append(f"$ pgclinic {' '.join(words)}\n{text}exit {code}\n")
    snapshots.check(name, "\n".join(said))


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(COMMANDS))
