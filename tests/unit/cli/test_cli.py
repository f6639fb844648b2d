"""The command line itself: help, errors, exit codes, output that machines read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.main import run
from pgclinic.errors import UsageError
from pgclinic.settings.words import parse_settings

PGCLINIC = Path(sys.executable).parent / "pgclinic"


def test_help_loads_nothing_heavy() -> None:
    done = subprocess.run([PGCLINIC, "--help"], capture_output=True, text=True, check=True)
    assert {"study", "bench", "lab"} <= set(done.stdout.split())
    heavy = "import sys, pgclinic.cli.main; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "psycopg", "jinja2", "rich", "jgo", "msgspec", "tomlkit"} & set(loaded)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "run", "global-counter"], "did you mean global-counters"),
        (["study", "show", "no-such"], "unknown study 'no-such'"),
        (["study", "run", "global-counters", "--budget", "soon"], "--budget 'soon' is not a valid duration"),
        (["study", "run", "global-counters", "--budget", "1m"], "needs at least 4"),
        (["study", "run", "global-counters", "--quick", "--full"], "mutually exclusive"),
        (["study", "run", "global-counters", "--set", "work_mem"], "is not NAME=VALUE"),
        (
            ["study", "run", "global-counters", "--version", "13", "--bindir", "/x"],
            "--version and --bindir are mutually exclusive",
        ),
        (["study", "run", "global-counters", "--seed", "seven"], "--seed"),
        (["study", "judge", "/nowhere"], "is not a run folder"),
        (["study", "runn"], "runn"),
        (["studdy"], "studdy"),
        (["study", "list", "--jsonn"], "--jsonn"),
    ],
)
def test_wrong_usage_is_named_and_exits_with_1(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_studies_are_listed_for_people_and_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "list"]) == 0
    assert "a held xmin horizon slows updates" in capsys.readouterr().out
    assert run(["study", "list", "--json"]) == 0
    assert "global-counters" in [row["name"] for row in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_list_of_studies_keeps_to_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["study", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > columns * 0.75
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert "global-counters" in names
    assert names == sorted(names)
    # A profile and its time are in one line.
    assert any(re.search(r"demo \d+ (min|s),", line) for line in lines)
    assert not any(line.endswith((" demo", " quick", " full")) or line.strip() == "min" for line in lines)


def test_show_tells_claim_source_protocol_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "show", "global-counters"]) == 0
    text = capsys.readouterr().out
    for word in ("claim", "source", "Zhilin", "0.60x", "10 clients", "update global_counters", "--quick", "mechanism"):
        assert word in text


def test_durations() -> None:
    assert [parse_duration_s(text, "--budget") for text in ("90", "90s", "5m", "1.5h")] == [90, 90, 300, 5400]
    assert [in_words(seconds) for seconds in (45, 300, 4800)] == ["45 s", "5 min", "80 min"]
    for text in ("0", "-5m", "5x", "m", ""):
        with pytest.raises(UsageError, match="not a valid duration"):
            parse_duration_s(text, "--budget")


def test_settings_keep_what_stands_behind_the_first_equals_sign() -> None:
    assert parse_settings(("log_line_prefix=a=b ", "work_mem = 4MB")) == {"log_line_prefix": "a=b", "work_mem": "4MB"}
