"""``pgclinic lab`` as a user types it."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.lab_home import binaries_for, cli
from pgclinic.lab.reaper import processes_of

SERVER = "s1"


@pytest.fixture
def home(fresh_home: Path) -> Iterator[Path]:
    yield fresh_home
    assert cli("lab", "stop", "--all").returncode == 0
    assert list((fresh_home / "instances").iterdir()) == []


def shown(*words: str) -> Any:
    done = cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.drawn(0.2)
def test_a_server_outlives_its_command_until_it_is_stopped(home: Path) -> None:
    started = cli("lab", "start", "--version", "13", "--name", SERVER, "--set", "work_mem=64kB")
    assert started.returncode == 0, started.stderr
    assert re.search(rf"^{SERVER}   PostgreSQL 13\.\d+ \(maven\)\n  dsn    host=.*\n  psql   .*", started.stdout)

    (listed,) = shown("lab", "list")
    assert (listed["name"], listed["state"], listed["detached"]) == (SERVER, "running", True)
    data_dir = home / "instances" / SERVER / "data"
    assert listed["pid"] in processes_of(data_dir)

    asked = cli("lab", "psql", SERVER, "--", "-Atc", "show work_mem")
    assert (asked.stdout, asked.stderr) == ("64kB\n", "")
    assert cli("lab", "psql", "--", "-Atc", "select 1").stdout == "1\n", "the only one needs no name"

    assert "database system is ready to accept connections" in cli("lab", "logs").stdout
    assert shown("lab", "stop", SERVER) == {"stopped": [SERVER]}
    assert processes_of(data_dir) == ()
    assert shown("lab", "list") == []


@pytest.mark.drawn(0.2)
def test_logs_follow_the_logging_collector(home: Path) -> None:
    cli("lab", "start", "--name", SERVER, "--set", "logging_collector=on", "--set", "log_statement=all")
    cli("lab", "psql", SERVER, "--", "-c", "select 'find me'")
    assert "find me" in cli("lab", "logs", SERVER).stdout


@pytest.mark.drawn(0.2)
def test_with_several_servers_a_name_is_needed(home: Path) -> None:
    for name in ("one", "two"):
        shown("lab", "start", "--name", name)
    refused = cli("lab", "stop")
    assert refused.returncode == 1
    assert "more than one server is running" in refused.stderr
    assert "name one of one, two" in refused.stderr
    wrong = cli("lab", "logs", "twoo")
    assert (wrong.returncode, "did you mean two?" in wrong.stderr) == (1, True)
    assert shown("lab", "stop", "--all") == {"stopped": ["one", "two"]}


@pytest.mark.drawn(0.2)
def test_a_server_that_died_is_cleaned_up_with_its_reason(home: Path) -> None:
    pid = shown("lab", "start", "--name", SERVER)["pid"]
    assert pid > 1
    os.kill(pid, signal.SIGKILL)
    data_dir = home / "instances" / SERVER / "data"
    limit = time.monotonic() + 10
    while processes_of(data_dir) and time.monotonic() < limit:
        time.sleep(0.05)
    done = cli("lab", "list")
    assert done.stdout == "no servers\n"
    assert f"removed the server {SERVER} (the server had died" in done.stderr


@pytest.mark.drawn(0.2)
def test_a_hanging_server_is_listed_as_such_and_can_be_stopped(home: Path) -> None:
    shown("lab", "start", "--name", SERVER)
    data_dir = home / "instances" / SERVER / "data"
    for pid in processes_of(data_dir):
        assert pid > 1
        os.kill(pid, signal.SIGSTOP)
    assert shown("lab", "list")[0]["state"] == "not answering"
    assert shown("lab", "stop", SERVER) == {"stopped": [SERVER]}
    assert processes_of(data_dir) == ()


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--set", "work_mme=1MB"), "unknown setting 'work_mme'", "did you mean work_mem?"),
        (("--set", "work_mem"), "is not NAME=VALUE", "write --set"),
        (("--set", "work_mem=1MB", "--set", "work_mem=2MB"), "given twice", ""),
        (("--set", "work_mem=1kB"), "outside 64kB to", "PostgreSQL 18.6"),
        (
            ("--version", "13", "--set", "io_method=worker"),
            "has no setting io_method",
            "io_method exists from PostgreSQL 18",
        ),
        (("--version", "133"), "unknown PostgreSQL version '133'", "did you mean 13.3?"),
        (("--version", "13.6"), "unknown PostgreSQL version '13.6'", "did you mean 13.5?"),
        (("--version", "x"), "is not a PostgreSQL version", "write it as"),
        (("--port", "80"), "is not a valid port for the lab", "1024 to 65535"),
        (("--name", "no/slash"), "cannot be a server's name", "use up to 40"),
        (("--version", "13", "--bindir", "/usr/bin"), "mutually exclusive", ""),
    ],
)
def test_wrong_usage_is_told_with_its_cure(home: Path, words: tuple[str, ...], said: str, hint: str) -> None:
    binaries_for("13")
    done = cli("lab", "start", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert hint in done.stderr


def test_a_refusing_server_is_exit_code_2(home: Path) -> None:
    done = cli("lab", "start", "--set", "min_wal_size=16MB")
    assert done.returncode == 2
    assert 'refused to start: "min_wal_size" must be at least twice' in done.stderr
    assert "the setting to blame: min_wal_size = '16MB'" in done.stderr


@pytest.mark.drawn(0.2)
def test_nothing_to_stop_list_or_prune(home: Path) -> None:
    assert cli("lab", "list").stdout == "no servers\n"
    assert cli("lab", "list", "--templates").stdout == "no templates\n"
    assert cli("lab", "prune").stdout == "removed 0 templates, 0 MB\n"
    assert cli("lab", "stop", "--all").stdout == "no server is running\n"
    refused = cli("lab", "stop")
    assert (refused.returncode, refused.stderr) == (
        1,
        "pgclinic: no server is running\n  hint: pgclinic lab start\n",
    )
