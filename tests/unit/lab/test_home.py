"""Where the lab keeps its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pgclinic.errors import UsageError
from pgclinic.lab.account import ACCOUNT_VARIABLE, Account, barrier, child_options, server_account
from pgclinic.lab.home import HOME_VARIABLE, SOCKET_DIRECTORY_BYTES_MAX, folder, lab_home, socket_directory


def test_the_home_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, "/somewhere")
    assert lab_home() == Path("/somewhere")


def test_root_uses_a_system_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert lab_home() == Path("/var/cache/pgclinic")


def test_an_ordinary_user_uses_the_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert lab_home() == Path("/cache/pgclinic")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert lab_home() == Path("/home/somebody/.cache/pgclinic")
    assert server_account() is None


def test_a_home_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, "/proc/nothing")
    with pytest.raises(UsageError, match="cannot keep its files"):
        folder("instances")


def test_a_home_behind_a_wall_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr(
        "pgclinic.lab.home.server_account", lambda: Account(name="somebody", uid=os.getuid() + 5, gid=os.getgid() + 5)
    )
    with pytest.raises(UsageError, match="the account somebody"):
        folder("instances")


def test_sockets_of_deep_homes_live_in_a_short_directory() -> None:
    shallow, deep = Path("/tmp/x"), Path("/tmp") / ("d" * SOCKET_DIRECTORY_BYTES_MAX)
    assert socket_directory(shallow) == shallow
    assert len(str(socket_directory(deep))) < 20
    assert socket_directory(deep) != socket_directory(deep)


@pytest.mark.parametrize(("name", "message"), [("nosuchaccount", "no account"), ("root", "refuses to run as root")])
def test_accounts_that_cannot_run_servers(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv(ACCOUNT_VARIABLE, name)
    with pytest.raises(UsageError, match=message):
        server_account()


def test_barriers_are_found_and_open_ways_are_not(tmp_path: Path) -> None:
    stranger = Account(name="stranger", uid=os.getuid() + 7, gid=os.getgid() + 7)
    tmp_path.chmod(0o700)
    assert barrier(tmp_path / ".", stranger) is not None
    assert barrier(Path("/usr/bin"), stranger) is None


def test_a_child_sees_nothing_of_the_callers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATA", "/elsewhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    environment = child_options(None)["env"]
    assert not [name for name in environment if name.startswith("PG")]
    assert environment["LC_ALL"] == "C"
