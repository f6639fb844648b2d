"""One way to a server that is not ours: what opens it for libpq opens it for the load of every verb."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.attached import trial_spec
from fixtures.command import small_study_text
from fixtures.encrypted import SEEN, SEEN_SCHEMA, Encrypted, encrypted_server, password_file
from fixtures.lab_home import cli
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.trial.run import TrialListener, run_trial

#: The load's own sessions stop the trial's load at once where they are not what was asked for.
CHECKED = """\
select 1 / (select ssl::int from pg_stat_ssl where pid = pg_backend_pid()) as encrypted \\gset
select 1 / (current_setting('work_mem') = '64kB')::int as small \\gset
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    with encrypted_server(tmp_path_factory.mktemp("certificate")) as made:
        made.only_tls()
        yield made


def one_trial(dsn: str, script: str) -> TrialRecord:
    return run_trial(trial_spec(dsn, script), TrialListener(), dsn=dsn)


def address(server: Encrypted, *more: str) -> str:
    return " ".join([f"host=localhost port={server.port} user={server.user} dbname=postgres", *more])


@pytest.mark.parametrize("way", ["PGPASSWORD", "PGPASSFILE", "passfile", "service", "password"])
def test_wherever_libpq_finds_the_password_and_the_options_the_load_has_them(
    server: Encrypted, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = password_file(tmp_path / "pgpass", server.password)
    options = "options='-c work_mem=64kB'"
    dsn = address(server, options)
    match way:
        case "PGPASSWORD":
            monkeypatch.setenv("PGPASSWORD", server.password)
        case "PGPASSFILE":
            monkeypatch.setenv("PGPASSFILE", str(secrets))
        case "passfile":
            dsn += f" passfile={secrets}"
        case "service":
            file = tmp_path / "services"
            lines = [f"host=localhost\nport={server.port}\nuser={server.user}\ndbname=postgres"]
            file.write_text("\n".join(["[shop]", *lines, f"password={server.password}", "options=-c work_mem=64kB\n"]))
            monkeypatch.setenv("PGSERVICEFILE", str(file))
            dsn = "service=shop"
        case _:
            dsn += f" password={server.password}"
    record = one_trial(dsn, CHECKED)
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None
    assert (record.load.failed, record.load.failures) == (0, ())
    assert record.load.transactions > 0
    assert server.databases() == []


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_the_load_of_a_trial_honours_sslmode(server: Encrypted, mode: str) -> None:
    dsn = address(server, f"password={server.password} sslmode={mode} options=-cwork_mem=64kB")
    record = one_trial(dsn + (f" sslrootcert={server.certificate}" if mode == "verify-full" else ""), CHECKED)
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None
    assert (record.load.failed, record.load.transactions > 0) == (0, True)


def test_a_tls_only_server_with_a_password_file_serves_every_verb(server: Encrypted, tmp_path: Path) -> None:
    secrets = password_file(tmp_path / "pgpass", server.password)
    dsn = address(server, f"sslmode=verify-full sslrootcert={server.certificate} passfile={secrets}")
    for name, text in (
        ("seen.sql", SEEN),
        ("schema.sql", SEEN_SCHEMA),
        ("s.toml", small_study_text(free_s=1, held_s=1)),
    ):
        (tmp_path / name).write_text(text)
    schema, script = str(tmp_path / "schema.sql"), str(tmp_path / "seen.sql")
    runs = ("--runs", str(tmp_path / "runs"))

    ran(cli("bench", "-n", "-f", script, "-t", "2", dsn))
    assert server.rows("select ssl from seen") == [(1,), (1,)]

    quick = ("--blocks", "4", "--warm-up", "0", "--measure", "1s", "--seed", "1", "--json", *runs)
    arms = ("--a", "clients=1", "--b", "clients=2", "--schema", schema, "--script", script)
    # Others may be at work on this machine: then the answer is 4, and what was run is as good for this test.
    ran(cli("compare", "--dsn", dsn, *arms, *quick), 0, 4)
    ran(cli("study", "run", str(tmp_path / "s.toml"), "--dsn", dsn, "--json", *runs), 0, 3, 4)
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/trials/*/record.json")]
    assert len(records) >= 12
    assert [record["failure"] for record in records if record["outcome"] != "done"] == []
    assert {record["load"]["failed"] for record in records} == {0}

    # It answers under the process id of nobody with a reason of its own, not with a failed connection.
    asked = cli("lab", "memory", "1", dsn)
    assert (asked.returncode, "process 1 cannot tell its memory" in asked.stderr) == (1, True), asked.stderr

    listed = cli("lab", "leftovers", dsn)
    assert (listed.returncode, listed.stdout) == (0, "no databases of pgclinic\n"), listed.stderr

    assert server.databases() == []
    found = subprocess.run(
        ["grep", "-rl", server.password, str(tmp_path)], capture_output=True, text=True, check=False
    ).stdout.split()
    assert found == [str(secrets)]


def ran(done: subprocess.CompletedProcess[str], *codes: int) -> None:
    assert done.returncode in (codes or (0,)), done.stderr
