"""``pgclinic bench`` beside the real pgbench, case by case: exit code, messages, summary, log and rows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures.conformance_cases import Case, read_cases
from fixtures.forked_cli import ForkedCli
from fixtures.lab_home import binaries_for
from fixtures.pgbench import pgbench
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session

CASES = read_cases()
#: What a case may leave behind in its database.
LEFT = "drop table if exists seen, made, other cascade; create table seen (what text)"


@dataclass(frozen=True)
class Programs:
    """Both programs, each with a database of its own on one server."""

    running: RunningServer
    sessions: dict[str, Session]
    forked: ForkedCli

    def environment(self, database: str) -> dict[str, str]:
        server = self.running.server
        return {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": database}

    def run(self, program: str, case: Case, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = self.environment(program) | case.environment
        words = [word.replace("{folder}", str(self.forked.folder)) for word in words]
        if program == "ours":
            return self.forked.run("bench", *words, **environment)
        return pgbench(*words, folder=self.forked.folder, **environment)

    def prepare(self, case: Case) -> None:
        for session in self.sessions.values():
            session.execute("; ".join([LEFT, *case.setup]))

    def rows(self, program: str, *, unordered: bool) -> list[Any]:
        order = "what" if unordered else "ctid"
        return self.sessions[program].rows(f"select what from seen order by {order}")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    settings = {"autovacuum": "off", "fsync": "off", "max_connections": "30", "lc_messages": "C"}
    forked = ForkedCli.start(tmp_path_factory.mktemp("scripts"))
    with start_server(binaries_for("18"), settings=settings) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
            for database in ("theirs", "ours"):
                session.execute(f"create database {database}")
        sessions = {
            name: Session(
                access, statement_timeout_ms=60_000, application_name="test", database=name, users_search_path=True
            )
            for name in ("theirs", "ours")
        }
        both = Programs(running, sessions, forked)
        for program in sessions:
            assert both.run(program, Case("tables"), ["-i", "-q"]).returncode == 0
        yield both
        for session in sessions.values():
            session.close()
    forked.stop()


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 250


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bench_does_what_pgbench_does(programs: Programs, case: Case) -> None:
    folder = programs.forked.folder
    for path in folder.iterdir():
        path.unlink()
    programs.prepare(case)
    words = [*case.words, *case.write_scripts(folder)]
    theirs, ours = (programs.run(program, case, words) for program in ("theirs", "ours"))
    context = f"{theirs.stderr}\n{theirs.stdout}\n---- ours\n{ours.stderr}\n{ours.stdout}"
    assert "Traceback" not in ours.stderr, context
    if case.codes is not None:
        assert (theirs.returncode, ours.returncode) == case.codes, context
        return
    assert ours.returncode == theirs.returncode, context
    assert rows_of(programs, case, "ours") == rows_of(programs, case, "theirs"), context
    if case.only_exit:
        return
    assert summary(ours.stdout) == summary(theirs.stdout), context
    if case.say is not None:
        assert re.search(case.say, theirs.stderr) and re.search(case.say, ours.stderr), context
    elif theirs.returncode == 1:
        # pgbench says of some faults only in which script they are.
        assert place(theirs.stderr) in ([], place(ours.stderr)), context
    else:
        assert messages(ours.stderr) == messages(theirs.stderr), context


def rows_of(programs: Programs, case: Case, program: str) -> list[Any]:
    return programs.rows(program, unordered=case.unordered)


def summary(stdout: str) -> list[str]:
    """Everything up to our own figures, without measured figures and without the programs' versions."""
    lines = stdout.split("\n\n", maxsplit=1)[0].splitlines()
    lines = [line for line in lines if not line.startswith(("pgbench (", "pgclinic bench ("))]
    return [re.sub(r" *\d+\.\d+", " #", line).rstrip() for line in lines]


def place(stderr: str) -> list[str]:
    """Where a script is wrong: file and line."""
    return re.findall(r"\b\d+\.sql:\d+", stderr)


def messages(stderr: str) -> list[str]:
    """All that was said, without the programs' names, what is measured, and libpq's excerpt of the statement."""
    lines = [re.sub(r"^(pgbench|pgclinic): ", "", line) for line in stderr.splitlines()]
    excerpt = re.compile(r"LINE \d+: |\s*\^$|\s*$")
    measured = (re.sub(r"\d+\.\d+( s|%| ms|,|$)", r"#\1", line) for line in lines if not excerpt.match(line))
    # How often progress is told depends on the time, its last line does not.
    told = re.compile(r"progress: |\d+ of \d+ tuples \((?!100%)")
    return [line for line in measured if not told.match(line)]


def log_lines(folder: Path, prefix: str) -> list[list[str]]:
    """The lines of all threads' files."""
    return [line.split() for path in sorted(folder.glob(f"{prefix}.*")) for line in path.read_text().splitlines()]
