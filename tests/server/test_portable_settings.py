"""A configuration of somebody else names libraries and commands: a server of the lab takes none of them over."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fixtures.command import Command
from fixtures.lab_home import MAJORS, binaries_for
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.instance import start_server
from pgclinic.model.twin import Twin
from pgclinic.settings.portable import TEXTS, portable_settings
from pgclinic.twin.file import write_twin

LIBRARY = """
#include <stdio.h>
__attribute__((constructor)) static void mark(void) {
    FILE *file = fopen("%s", "w");
    if (file) fclose(file);
}
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that the account of the lab's servers can reach."""
    with TemporaryDirectory(prefix="pgclinic-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def library(tmp_path: Path, open_folder: Path) -> Path:
    """A library that leaves a mark beside itself as soon as somebody loads it, whoever that is."""
    room = open_folder / "room"
    room.mkdir()
    room.chmod(0o777)
    source = tmp_path / "mark.c"
    source.write_text(LIBRARY % (room / "loaded"), encoding="utf-8")
    made = room / "mark.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def hostile(library: Path) -> dict[str, str]:
    touch = f"touch {library.parent / 'ran'}"
    return {
        "jit_provider": f"../../../../../../../../../../../../{library.with_suffix('')}",
        "session_preload_libraries": str(library),
        "local_preload_libraries": str(library),
        "shared_preload_libraries": str(library),
        "dynamic_library_path": str(library.parent),
        "archive_mode": "on",
        "archive_command": touch,
        "archive_cleanup_command": touch,
        "restore_command": touch,
        "recovery_end_command": touch,
        "ssl_passphrase_command": touch,
        "external_pid_file": str(library.parent / "ran"),
        "data_directory": str(library.parent),
        "hba_file": str(library.parent / "pg_hba.conf"),
        "ident_file": str(library.parent / "pg_ident.conf"),
        "log_directory": str(library.parent),
        "log_filename": "ran",
        "unix_socket_directories": str(library.parent),
        "krb_server_keyfile": str(library.parent / "key"),
        "ssl_key_file": str(library.parent / "key"),
        "listen_addresses": "*",
        "primary_conninfo": "host=127.0.0.1",
        "auto_explain.log_min_duration": "0",
    }


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("verb", ("assay", "search"))
def test_what_a_file_names_is_left_out_and_said(verb: str, library: Path, command: Command) -> None:
    conf = command.folder / "postgresql.conf"
    lines = [f"{name} = '{value}'" for name, value in hostile(library).items()]
    conf.write_text("\n".join([*lines, "jit = on", "jit_above_cost = 0", "work_mem = 64kB", ""]), encoding="utf-8")
    words = ("--script", "builtin:select-only", "-c", "1", "--measure", "1s", "--warm-up", "0", "--budget", "25s")
    search = ("search", "--worst", "--only", "random_page_cost", "--base", str(conf))
    target = ("assay", str(conf)) if verb == "assay" else search
    done = command.run(*target, *words, "--seed", "3")
    assert done.returncode in (0, 4), done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "left out, as the lab decides them" in line]
    assert set(said.split(": ")[-1].split(", ")) == set(hostile(library))
    assert sorted(path.name for path in library.parent.iterdir()) == ["mark.so"]


def test_files_that_a_file_includes_are_named_and_not_read(command: Command) -> None:
    conf = command.folder / "postgresql.conf"
    (command.folder / "other.conf").write_text("this is no line of a configuration", encoding="utf-8")
    conf.write_text("include_if_exists = 'other.conf'\ninclude_dir 'conf.d'\nport = 1\n", encoding="utf-8")
    done = command.run("assay", str(conf), "--script", "builtin:select-only")
    # Nothing is left of the file that could be tried.
    assert done.returncode == 1, done.stderr
    assert "left out, as included files are not read: include_if_exists other.conf, include_dir conf.d" in done.stderr
    assert "left out, as the lab decides them: port" in done.stderr


def test_the_library_leaves_its_mark_where_the_user_names_it(library: Path, command: Command) -> None:
    """So that the tests here could fail."""
    done = command.run("lab", "start", "--set", f"session_preload_libraries={library}", "--name", "marked", "--json")
    command.run("lab", "stop", "marked")
    assert (library.parent / "loaded").exists(), done.stderr


def test_the_settings_of_a_twin_name_no_library(library: Path, command: Command) -> None:
    twin = Twin(
        version="18.6",
        version_num=180_006,
        captured_epoch_s=0.0,
        capture_s=0.1,
        database="app",
        database_bytes=8_000_000,
        encoding="UTF8",
        collate="C",
        ctype="C",
        settings={**hostile(library), "jit": "on"},
        objects=(),
        tables=(),
    )
    write_twin(command.folder / "app.twin", twin, masked_text="")
    done = command.run("lab", "start", "--twin", "app.twin", "--name", "hostile")
    command.run("lab", "stop", "hostile")
    assert sorted(path.name for path in library.parent.iterdir()) == ["mark.so"], done.stderr


def hostile_snapshot(path: Path, library: Path) -> None:
    """One in which WAL buffers were full, and which says of a library that it is a switch of the planner."""
    snapshot = json.loads(path.read_text(encoding="utf-8"))
    switch = next(setting for setting in snapshot["settings"] if setting["name"] == "enable_seqscan")
    named = {"name": "session_preload_libraries", "value": str(library), "source": "configuration file"}
    snapshot["settings"].append(switch | named)
    buffers = next(setting for setting in snapshot["settings"] if setting["name"] == "wal_buffers")
    buffers.update(value="8", source="configuration file")
    for wal in snapshot["counters"]["wal"]:
        wal.update(buffers_full=10**6, bytes=8192 * 10**6)
    path.write_text(json.dumps(snapshot), encoding="utf-8")


@pytest.mark.drawn(0.2)
def test_the_settings_of_a_snapshot_name_no_library(library: Path, command: Command) -> None:
    with start_server(binaries_for("18"), settings={}) as running:
        server = running.server
        dsn = f"host={server.host} port={server.port} user={server.user} dbname=postgres"
        taken = command.run("capture", "snapshot", dsn, "-o", "app.json")
    assert taken.returncode == 0, taken.stderr
    hostile_snapshot(command.folder / "app.json", library)
    done = command.run("checkup", "--from", "app.json", "--prove", "--budget", "60s", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    (found,) = [
        one for one in json.loads(done.stdout)["checkup"]["findings"] if one["pathology"] == "wal-buffers-small"
    ]
    (proof,) = found["proofs"]
    assert "wal-pressure" in proof["on"] and proof["run"]
    assert sorted(path.name for path in library.parent.iterdir()) == ["mark.so"]


@pytest.mark.parametrize("major", MAJORS)
def test_only_texts_that_are_known_to_be_texts_are_taken(major: str) -> None:
    catalog = settings_catalog(binaries_for(major))
    every = {setting.name: setting.boot_val or "" for setting in catalog.settings}
    kept = portable_settings(catalog, every).settings
    texts = {setting.name for setting in catalog.settings if setting.vartype == "string"}
    assert texts & set(kept) <= TEXTS
    assert not {"port", "ssl", "archive_mode"} & set(kept)
    assert {"work_mem", "shared_buffers", "jit", "random_page_cost", "search_path"} <= set(kept)
    assert portable_settings(catalog, {"JIT_Provider": "x", "Work_Mem": "1MB"}).left_out == ("JIT_Provider",)
    assert portable_settings(catalog, {"no_such_setting": "1"}).settings == {"no_such_setting": "1"}
