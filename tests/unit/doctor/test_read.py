"""The readings of this machine, as far as any machine has them, and those made of given texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pgclinic.doctor.read import installed_extras, read_machine_state
from pgclinic.lab.home import HOME_VARIABLE
from pgclinic.model.doctor import InstalledExtra
from pgclinic.observe.host_files import meminfo


def test_an_extra_is_installed_when_all_that_it_names_is() -> None:
    requirements = [
        "rich>=14",
        "ortools<10,>=9.15 ; extra == 'advise'",
        "starlette>=1.0; extra == 'serve'",
        'uvicorn>=0.40; python_version > "3" and extra == "serve"',
        "ray[client]>=2.50 ; extra == 'ray'",
    ]
    assert installed_extras(requirements, {"ortools", "starlette", "ray"}.__contains__) == (
        InstalledExtra(name="advise", installed=True),
        InstalledExtra(name="ray", installed=True),
        InstalledExtra(name="serve", installed=False),
    )


def test_this_machine_is_read(fresh_home: Path) -> None:
    readings = read_machine_state(observe_s=0.1)
    assert readings.machine.cores == len(os.sched_getaffinity(0))
    assert readings.host is not None
    assert readings.host.memory_bytes == meminfo(Path("/proc/meminfo").read_text())["MemTotal"]
    assert readings.host.observed_s >= 0.1
    assert readings.home.problem is None
    assert readings.home.path == str(fresh_home)
    assert readings.home.flush is not None
    assert readings.home.flush.flushes >= 2
    assert (readings.home.account is None) == (os.geteuid() != 0)
    assert "embedded" in {version.source for version in readings.versions}
    assert list((fresh_home / "instances").iterdir()) == []


def test_a_home_that_cannot_be_made_is_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, "/proc/no-home")
    readings = read_machine_state(observe_s=0.0)
    assert readings.home.problem is not None
    assert "/proc/no-home" in readings.home.problem
    assert readings.home.hint == "set PGCLINIC_HOME to another directory"
    assert readings.versions == ()
