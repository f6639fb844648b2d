"""The files of a run: seconds, histograms, the run folder; and what they must never contain."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.records import load_result
from pgclinic.bench.command_line import read_command_line
from pgclinic.bench.hdr_log import hdr_log_text
from pgclinic.bench.request import BenchRequest
from pgclinic.bench.seconds_file import refuse_unwritable, write_seconds
from pgclinic.bench.secrets import without_secrets
from pgclinic.errors import UsageError
from pgclinic.load.pgbench_tables import PgbenchTables, partition_statements, row_blocks
from pgclinic.model.load import LogSpec, SecondFailure


def test_seconds_are_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "seconds.jsonl"
    write_seconds(path, load_result([10.0, 20.0]).seconds)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["second"], row["transactions"]) for row in rows] == [(0, 10), (1, 20)]


def test_parquet_without_its_library_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_duckdb(name: str, package: str | None = None) -> Any:
        if name == "duckdb":
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without_duckdb)
    with pytest.raises(UsageError, match="needs DuckDB") as raised:
        refuse_unwritable("--seconds", [tmp_path / "x.parquet"])
    assert "pgclinic[parquet]" in str(raised.value.hint)
    refuse_unwritable("--seconds", [tmp_path / "x.jsonl"])


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    duckdb = importlib.import_module("duckdb")
    path = tmp_path / "seconds.parquet"
    seconds = load_result([10.0, 20.0], scripts=("a", "b")).seconds
    write_seconds(path, seconds)
    with duckdb.connect() as connection:
        rows = connection.sql(f"select second, script, transactions from '{path}' order by all").fetchall()
    assert rows == sorted((row.second, row.script, row.transactions) for row in seconds)


def test_both_forms_hold_the_failures_and_the_histogram_of_a_second(tmp_path: Path) -> None:
    duckdb = importlib.import_module("duckdb")
    path, lines = tmp_path / "seconds.parquet", tmp_path / "seconds.jsonl"
    (plain,) = load_result([10.0]).seconds
    failures = (SecondFailure(sqlstate="40001", count=3), SecondFailure(sqlstate="40P01", count=1))
    seconds = [replace(plain, failed=4, failures=failures, hdr="HIST"), plain]
    for file in (path, lines):
        write_seconds(file, seconds)
    with duckdb.connect() as connection:
        rows = connection.sql(f"select failures, hdr, statements from '{path}'").fetchall()
    stored = [json.loads(line) for line in lines.read_text().splitlines()]
    assert rows == [(row["failures"], row["hdr"], row["statements"]) for row in stored]
    assert rows[0][0] == [{"sqlstate": "40001", "count": 3}, {"sqlstate": "40P01", "count": 1}]


def test_a_file_that_stands_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        refuse_unwritable("--seconds", [tmp_path / "mine.jsonl"])
    # A device or a pipe is no file of anybody's.
    refuse_unwritable("--seconds", [Path("/dev/null")])


def test_a_directory_that_is_not_there_is_found_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no directory"):
        refuse_unwritable("--seconds", [tmp_path / "no" / "x.jsonl"])


def test_the_histogram_log_has_a_line_a_second_and_script() -> None:
    load = load_result([5.0, 7.0], scripts=("a b", "c"))
    seconds = tuple(replace(second, hdr=f"HIST{second.second}") for second in load.seconds)
    lines = hdr_log_text(replace(load, seconds=seconds)).splitlines()
    assert lines[0] == "#[Histogram log format version 1.3]"
    assert '"StartTimestamp","Interval_Length"' in lines[3]
    cells = [line.split(",") for line in lines[4:]]
    assert [(tag, start, hdr) for tag, start, _, _, hdr in cells] == [
        ("Tag=a_b", "0.000", "HIST0"),
        ("Tag=c", "0.000", "HIST0"),
        ("Tag=a_b", "1.000", "HIST1"),
        ("Tag=c", "1.000", "HIST1"),
    ]
    assert all(float(highest) > 0 for _, _, _, highest, _ in cells)


@pytest.mark.parametrize(
    "words",
    [
        ["postgresql://u:geheim@h/db"],
        ["-d", "host=h password=geheim dbname=db"],
        ["-dhost=h password=geheim"],
        ["--dbname=postgres://u:geheim@h:5/db"],
        ["--db=password=geheim"],
        ["-nSd", "password=geheim user=u"],
        ["-nSdpassword=geheim"],
    ],
)
def test_a_password_never_stays_in_the_stored_command(words: list[str]) -> None:
    stored = without_secrets(words)
    assert len(stored) == len(words)
    assert "geheim" not in " ".join(stored)


def test_ordinary_words_stay_as_they_are() -> None:
    words = ["-c8", "--fail-if", "p99>=50ms", "-D", "a=1", "--rate=5", "shop"]
    assert without_secrets(words) == words


def test_the_log_asked_for_reaches_the_engine() -> None:
    request = read_command_line(["-l", "--sampling-rate=0.5", "--log-prefix=mine", "--failures-detailed"], {}).asked
    assert isinstance(request, BenchRequest)
    assert request.log == LogSpec(prefix="mine", sampling_rate=0.5, failures_detailed=True)
    with pytest.raises(UsageError, match="cannot write one log"):
        read_command_line(["-l", "--find-rate", "p99<20ms", "-T", "5"], {})


def test_rows_are_those_of_pgbench() -> None:
    accounts = b"".join(row_blocks("pgbench_accounts", 200_000)).decode().splitlines()
    assert len(accounts) == 200_000
    assert accounts[0] == "1\t1\t0\t"
    assert accounts[99_999:100_001] == ["100000\t1\t0\t", "100001\t2\t0\t"]
    assert b"".join(row_blocks("pgbench_tellers", 20)).splitlines()[10] == b"11\t2\t0\t\\N"
    assert list(row_blocks("pgbench_branches", 2)) == [b"1\t0\t\\N\n2\t0\t\\N\n"]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_range_partitions_leave_no_gap(parts: int) -> None:
    statements = list(partition_statements(PgbenchTables(partitions=parts, partition_method="range", scale=3)))
    bounds = [text.split("from (")[1].split(")")[0] for text in statements]
    ends = [text.split("to (")[1].split(")")[0] for text in statements]
    assert bounds[0] == "minvalue"
    assert ends[-1] == "maxvalue"
    assert bounds[1:] == ends[:-1]
