"""``pgclinic doctor`` as a user types it, on this machine."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import cli, python
from pgclinic.lab.registry import entry_path
from pgclinic.model.doctor import CheckName, CheckState
from pgclinic.model.output import DoctorOutput


def checked(**environment: str) -> tuple[int, DoctorOutput]:
    done = cli("doctor", "--json", **environment)
    assert done.stderr == ""
    return done.returncode, msgspec.json.decode(done.stdout, type=DoctorOutput)


def test_this_machine_can_run_servers_and_nothing_is_left_of_the_look(fresh_home: Path) -> None:
    code, output = checked()
    assert (code, output.can_run) == (0, True)
    names = {check.name for check in output.checks}
    assert {CheckName.HOME, CheckName.DISK_FLUSH, CheckName.VERSIONS, CheckName.CORES, CheckName.LEFTOVERS} <= names
    assert all((check.command is None) == (check.state is CheckState.FINE) for check in output.checks)
    assert [path for path in fresh_home.rglob("*") if path.is_file() and path.parent.name != "locks"] == [
        path for path in (fresh_home / "versions").rglob("*") if path.is_file()
    ]
    text = cli("doctor")
    assert text.returncode == 0
    assert text.stdout.startswith("This machine can measure PostgreSQL 18")


def test_a_home_or_an_account_that_cannot_be_used_stands_in_the_way() -> None:
    code, output = checked(PGCLINIC_HOME="/proc/no-home")
    assert (code, output.can_run) == (1, False)
    assert (output.checks[0].name, output.checks[0].state) == (CheckName.HOME, CheckState.BLOCKS)
    assert output.checks[0].command == "set PGCLINIC_HOME to another directory"
    assert output.answer == "This machine cannot run servers of the lab: see lab home."


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone runs servers as another account")
def test_an_account_that_does_not_exist_is_named(fresh_home: Path) -> None:
    code, output = checked(PGCLINIC_ACCOUNT="no-such-account")
    assert code == 1
    assert "'no-such-account'" in output.checks[0].found


def test_a_wrong_option_is_an_error() -> None:
    done = cli("doctor", "--jsonn")
    assert done.returncode == 1
    assert "--json" in done.stderr


def test_the_server_of_a_killed_command_is_named_with_the_command_that_removes_it(fresh_home: Path) -> None:
    killed = python(
        """
        from pgclinic.lab.instance import start_server
        from pgclinic.lab.sources import find_source
        with start_server(find_source("18").ensure(), settings={}) as running:
            print(running.instance.name, flush=True)
            input()
        """
    )
    assert killed.stdout is not None
    name = killed.stdout.readline().strip()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert entry_path(name).is_file()
    _, output = checked()
    (left,) = [one for one in output.readings.leftovers if one.name == name]
    assert (left.reason, left.command) == ("its command was killed", "pgclinic lab list")
    assert cli("lab", "list").returncode == 0
    _, output = checked()
    assert name not in {one.name for one in output.readings.leftovers}
