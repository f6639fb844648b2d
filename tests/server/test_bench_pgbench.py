"""``pgclinic bench`` beside the real pgbench: same command line, same statements, rows, values and exit codes."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures.drawn import drawn_majors
from fixtures.forked_cli import ForkedCli
from fixtures.lab_home import MAJORS, binaries_for, cli
from fixtures.pgbench import pgbench
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session

TABLES = ("pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history")


@dataclass(frozen=True)
class Both:
    """One server on which the same words can be given to both programs, each with a database of its own."""

    running: RunningServer
    forked: ForkedCli

    def environment(self, database: str) -> dict[str, str]:
        server = self.running.server
        return {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": database}

    def theirs(self, *words: str) -> subprocess.CompletedProcess[str]:
        return pgbench(*words, **self.environment("theirs"))

    def ours(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.forked.run("bench", *words, **self.environment("ours"))

    def rows(self, database: str, query: str) -> list[tuple[Any, ...]]:
        access = Access(self.running.server)
        with Session(
            access, statement_timeout_ms=60_000, application_name="test", database=database, users_search_path=True
        ) as session:
            return session.rows(query)

    def execute(self, database: str, statement: str) -> None:
        access = Access(self.running.server)
        with Session(
            access, statement_timeout_ms=60_000, application_name="test", database=database, users_search_path=True
        ) as session:
            session.execute(statement)

    def logged(self, words: list[str], *, ours: bool) -> list[str]:
        """The statements that the server logs while the program runs."""
        before = self.running.log_path.stat().st_size
        (self.ours if ours else self.theirs)(*words)
        found: list[str] = []
        for line in self.running.log_path.read_bytes()[before:].decode().splitlines():
            if "LOG:  statement: " in line:
                found.append(line.split("LOG:  statement: ", 1)[1])
            elif line.startswith("\t") and found:
                found[-1] += " " + line.strip()
        return [" ".join(text.split()) for text in found]


@pytest.fixture(scope="module", params=drawn_majors("pgbench", MAJORS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    settings = {"log_statement": "all", "autovacuum": "off", "fsync": "off"}
    with start_server(binaries_for(request.param), settings=settings) as running:
        with Session(
            Access(running.server), statement_timeout_ms=60_000, application_name="test", users_search_path=True
        ) as session:
            session.execute("create database theirs")
            session.execute("create database ours")
        forked = ForkedCli.start(tmp_path_factory.mktemp("commands"))
        yield Both(running, forked)
        forked.stop()


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "-q"],
        ["-i", "-I", "dtGvpf", "-F", "80", "--unlogged-tables"],
        ["-i", "--partitions=3", "--foreign-keys", "-s", "2", "-q"],
        ["-i", "--partitions=2", "--partition-method=hash", "--unlogged-tables", "-n", "-F", "70", "-q"],
        ["-i", "-I", "dtp", "--tablespace=pg_default"],
    ],
    ids=" ".join,
)
def test_initialization_sends_the_same_statements_and_leaves_the_same_rows(both: Both, words: list[str]) -> None:
    # How each looks up whether a table is partitioned is its own affair.
    # Both ask whether the table is partitioned, each in its own words.
    asking = ("relkind", "partstrat")
    theirs, ours = (
        [text for text in both.logged(words, ours=mine) if not any(word in text for word in asking)]
        for mine in (False, True)
    )
    assert ours == theirs, "\n".join(difflib.unified_diff(theirs, ours, lineterm=""))
    for table in TABLES:
        query = f"select md5(string_agg(t::text, ',' order by t::text)), count(*) from {table} t"
        assert both.rows("ours", query) == both.rows("theirs", query), table


EXAMPLES = [
    ["-t", "5"],
    ["-c", "1", "-t", "20", "-M", "prepared"],
    ["-N", "-t", "10", "-M", "extended"],
    ["-S", "-t", "10", "-C"],
    ["-n", "-t", "30", "-b", "simple-update@3", "-b", "select-only@2", "-b", "tpcb-like"],
    ["-t", "5", "-D", "scale=1", "--max-tries=2", "-r"],
    ["-v", "-t", "3"],
]


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_the_same_seed_gives_the_same_rows_and_values(both: Both, words: list[str]) -> None:
    words = [*words, "--random-seed=42"]
    for program in (both.theirs, both.ours):
        assert program("-i", "-q").returncode == 0
    theirs, ours = both.theirs(*words), both.ours(*words)
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr
    for query in (
        "select tid, bid, aid, delta from pgbench_history order by ctid",
        "select aid, abalance from pgbench_accounts where abalance <> 0 order by aid",
        "select tid, tbalance from pgbench_tellers order by tid",
        "select bid, bbalance from pgbench_branches order by bid",
    ):
        assert both.rows("ours", query) == both.rows("theirs", query)
    assert "setting random seed to 42" in ours.stderr


@pytest.mark.parametrize("words", [*EXAMPLES, ["-T", "1", "-c", "2", "-j", "2"]], ids=" ".join)
def test_the_summary_has_every_line_of_pgbench_in_its_order(both: Both, words: list[str]) -> None:
    for program in (both.theirs, both.ours):
        program("-i", "-q")
    words = [*words, "--random-seed=42"]
    theirs = [_shape(line) for line in both.theirs(*words).stdout.splitlines()[1:]]
    ours = [_shape(line) for line in both.ours(*words).stdout.splitlines()[1:]]
    at = iter(ours)
    missing = [line for line in theirs if not any(line == other for other in at)]
    assert not missing, "\n".join(ours)


def _shape(line: str) -> str:
    """A line with its measured figures taken out; counts and names stay."""
    # The result of a run of one second: the only count that is measured.
    counted = re.sub(r"(actually processed): \d+$", r"\1: #", line)
    return re.sub(r"\d+\.\d+", "#", counted).strip()


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["-n", "-t", "2"], "select 1;"),
        (["-n", "-t", "2"], "select 1/0;"),
        (["-n", "-t", "2"], "\\set a 1/0\nselect 1;"),
        (["-n", "-t", "2"], "selekt 1;"),
        (["-n", "-t", "2"], "\\seth a 1"),
        (["-n", "-t", "2"], "\\if true\nselect 1;"),
        (["-n", "-t", "2"], ""),
        (["-n", "-t", "2"], "select 1 as a \\gset\nselect :a;"),
        (["-n", "-t", "2"], "select 1 as a where false \\gset\nselect :a;"),
        (["-n", "-t", "2", "-c", "2", "--exit-on-abort"], "select 1/0;"),
        (["-t", "2"], "select 1;"),
        (["-n", "-t", "2"], "do $$ begin raise exception 'x' using errcode = '40001'; end $$;"),
        (["-n", "-t", "2", "-U", "nobody_there"], "select 1;"),
    ],
)
def test_exit_codes_are_those_of_pgbench(both: Both, tmp_path: Path, words: list[str], script: str) -> None:
    path = tmp_path / "script.sql"
    path.write_text(script + "\n", encoding="utf-8")
    theirs, ours = both.theirs(*words, "-f", str(path)), both.ours(*words, "-f", str(path))
    assert ours.returncode == theirs.returncode, ours.stderr + theirs.stderr
    assert "Traceback" not in ours.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["-t", "20", "-c", "2", "-j", "2"],
        ["-t", "40", "--sampling-rate=0.5"],
        ["-t", "20", "-R", "200", "--max-tries=3", "--failures-detailed"],
    ],
    ids=" ".join,
)
def test_the_log_has_the_same_lines(both: Both, tmp_path: Path, words: list[str]) -> None:
    for program in (both.theirs, both.ours):
        program("-i", "-q")
    for name, program in (("theirs", both.theirs), ("ours", both.ours)):
        done = program("-S", *words, "--random-seed=42", "-l", f"--log-prefix={tmp_path}/{name}")
        assert done.returncode == 0, done.stderr
    theirs, ours = _log_lines(tmp_path, "theirs"), _log_lines(tmp_path, "ours")
    assert theirs
    # Client, transaction and script are fixed by the seed; the times are not, their number is.
    assert [(*line[:2], line[3], len(line)) for line in ours] == [(*line[:2], line[3], len(line)) for line in theirs]
    assert all(0 < int(line[2]) < 60_000_000 and int(line[4]) > 1_700_000_000 for line in ours)


def test_the_aggregated_log_has_the_same_columns(both: Both, tmp_path: Path) -> None:
    for name, program in (("theirs", both.theirs), ("ours", both.ours)):
        program("-i", "-q")
        words = ["-S", "-T", "3", "--aggregate-interval=1", "-l", f"--log-prefix={tmp_path}/{name}"]
        assert program(*words).returncode == 0
    theirs, ours = _log_lines(tmp_path, "theirs"), _log_lines(tmp_path, "ours")
    assert abs(len(ours) - len(theirs)) <= 1
    assert {len(line) for line in ours} == {len(line) for line in theirs}


def _log_lines(folder: Path, prefix: str) -> list[list[str]]:
    """The lines of all threads' files, thread by thread; a thread's file but the first has one more number."""
    files = sorted(folder.glob(f"{prefix}.*"), key=lambda path: (path.name.count("."), path.name))
    return [line.split() for file in files for line in file.read_text().splitlines()]


def test_tables_that_are_not_there_are_named(both: Both) -> None:
    both.execute("ours", "drop table if exists pgbench_branches cascade")
    done = both.ours("-S")
    assert done.returncode == 1
    assert "could not count number of branches" in done.stderr
    assert "pgclinic bench -i" in done.stderr


def test_variables_have_the_same_values(both: Both, tmp_path: Path) -> None:
    script = tmp_path / "values.sql"
    script.write_text(
        "\\set u random(1, 1000000)\n\\set g random_gaussian(1, 1000000, 2.5)\n"
        "\\set z random_zipfian(1, 1000000, 1.07)\n"
        "\\set h hash(:u)\n"
        "insert into seen values (:client_id, :random_seed, :default_seed, :scale, :u, :g, :z, :h, :x);\n",
        encoding="utf-8",
    )
    columns = "client bigint, seed numeric, standard numeric, scale int, u int, g int, z int, hash bigint, x text"
    words = ["-n", "-t", "5", "-s", "7", "-f", str(script), "--random-seed=42", "-D", "x=3"]
    for database, program in (("theirs", both.theirs), ("ours", both.ours)):
        both.execute(database, f"drop table if exists seen; create table seen ({columns})")
        assert program(*words).returncode == 0
    query = "select * from seen order by ctid"
    assert both.rows("ours", query) == both.rows("theirs", query)
    assert len(both.rows("ours", query)) == 5


def test_the_interpreter_is_the_one_of_these_tests() -> None:
    assert cli("bench", "--version").stdout.startswith("pgclinic bench ")
    assert sys.version_info >= (3, 11)
