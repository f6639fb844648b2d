"""``pgclinic checkup`` without a server: what it refuses, what it exports, what it makes of stored runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.checkups import DEAD_ROWS, HEALTHY, HELD, SICK, SNAPSHOT
from fixtures.records import run_info
from pgclinic.checkup.changes import compare_checkups
from pgclinic.checkup.sent_statements import sent_statements
from pgclinic.cli.checkup_run import exit_code
from pgclinic.cli.main import run
from pgclinic.model.checkup import Checkup, Unchecked
from pgclinic.model.finding import Cost, CostKind, Fact, Finding, Severity, Unit
from pgclinic.model.run import RunKind
from pgclinic.report.exports.prometheus import prometheus
from pgclinic.report.sections.causes.text import all_explained, graph_dot
from pgclinic.report.words.facts import cost_words, fact_words
from pgclinic.store.checkup_folder import Examined, read_examined, write_checkup, write_checkup_folder
from pgclinic.store.document import write_document

DSN = "host=/nowhere port=1 user=nobody dbname=none"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no server is named"),
        ([DSN, "--from", "snapshot.json"], "mutually exclusive"),
        (["--from", "snapshot.json", "--observe", "5s"], "--observe needs a server"),
        (["--from", "snapshot.json", "--log", "server.log"], "--log needs a server"),
        (["--from", "nowhere.json"], "nowhere.json cannot be read"),
        ([DSN, "--observe", "soon"], "--observe 'soon' is not a valid duration"),
        ([DSN, "--log", "nowhere.log"], "there is no file nowhere.log"),
        ([DSN, "--fail-on", "warnin"], "did you mean warning?"),
        ([DSN, "--graph=dott"], "unknown form of a graph 'dott'"),
        ([DSN, "--major", "17"], "--major needs --print-sql"),
        ([DSN, "--budget", "5m"], "--budget needs --prove"),
        ([DSN, "--prove", "--budget", "soon"], "--budget 'soon' is not a valid duration"),
        ([DSN, "--prove", "--no-run"], "mutually exclusive"),
        ([DSN, "--since", "nowhere"], "nowhere cannot be read"),
        ([DSN, "--json", "--markdown", "-"], "cannot both go to stdout"),
        ([DSN, "--graph", "--prometheus", "-"], "cannot both go to stdout"),
        ([DSN, "--markdown", "one", "--prometheus", "one"], "name the same file"),
        ([DSN, "--markdown", "nowhere/one.md"], "there is no directory nowhere"),
        ([DSN, "--prometheus", "."], "it is a directory"),
        ([DSN, "--observe", "0"], "cannot connect"),
        (["this is no connection string"], "this is not a connection string"),
    ],
)
def test_wrong_usage_is_named(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["checkup", *words]) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert not (tmp_path / "runs").exists()


def test_a_snapshot_is_examined_without_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "snapshot.json"
    write_document(file, SNAPSHOT)
    assert run(["checkup", "--from", str(file), "--json", "--runs", str(tmp_path / "runs")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["run"] is None
    found = msgspec.convert(printed["checkup"], Checkup)
    assert (found.server, found.database, found.version) == (str(file), "shop", "16.4")
    assert not (tmp_path / "runs").exists()


def test_a_run_folder_is_examined_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = replace(run_info(), kind=RunKind.CHECKUP)
    folder = write_checkup_folder(tmp_path, info, Examined(SNAPSHOT))
    write_checkup(folder, SICK)
    assert read_examined(folder) == Examined(SNAPSHOT)
    assert folder.name.endswith("-checkup-shop")
    assert write_checkup_folder(tmp_path, info, Examined(SNAPSHOT)).name == f"{folder.name}-2"
    assert run(["checkup", "--from", str(folder), "--since", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "PostgreSQL 16.4" in out
    assert re.search(r"^since 2023-11-14 22:13 UTC", out, re.MULTILINE)
    assert "session 4711 (report)" in out
    assert run(["study", "judge", str(folder)]) == 1
    assert f"pgclinic checkup --from {folder}" in capsys.readouterr().err


def test_exit_code_is_that_of_the_worst_finding() -> None:
    noticed = replace(SICK, findings=tuple(replace(finding, severity=Severity.NOTICE) for finding in SICK.findings))
    assert [exit_code(SICK, one) for one in (None, *Severity)] == [0, 5, 5, 5]
    assert [exit_code(noticed, one) for one in (None, *Severity)] == [0, 5, 0, 0]
    assert [exit_code(HEALTHY, one) for one in Severity] == [0, 0, 0]


def with_cost(value: float, kind: CostKind = CostKind.SPACE_BYTES) -> Checkup:
    return replace(SICK, findings=(replace(DEAD_ROWS, cost=Cost(kind=kind, value=value)),))


@pytest.mark.parametrize(
    ("before", "after", "group"),
    [
        (with_cost(1e9), with_cost(1.1e9), "same"),
        (with_cost(1e9), with_cost(2e9), "worse"),
        (with_cost(2e9), with_cost(1e9), "better"),
        (with_cost(0), with_cost(1e9), "worse"),
        (with_cost(0), with_cost(0), "same"),
        (with_cost(40, CostKind.DAYS_LEFT), with_cost(20, CostKind.DAYS_LEFT), "worse"),
        (with_cost(0.02, CostKind.TIME_SHARE), with_cost(0.04, CostKind.TIME_SHARE), "same"),
        (with_cost(0.2, CostKind.TIME_SHARE), with_cost(0.4, CostKind.TIME_SHARE), "worse"),
        (with_cost(1e9), with_cost(2e9, CostKind.MEMORY_BYTES), "same"),
        (HEALTHY, with_cost(1), "new"),
        (with_cost(1), HEALTHY, "gone"),
        (
            with_cost(1),
            replace(HEALTHY, unchecked=(Unchecked(pathology=DEAD_ROWS.pathology, reason="hidden"),)),
            "unknown",
        ),
    ],
)
def test_changes_have_a_direction(before: Checkup, after: Checkup, group: str) -> None:
    changes = compare_checkups(before, after)
    sizes = {name: len(getattr(changes, name)) for name in ("new", "worse", "better", "gone", "unknown")}
    sizes["same"] = changes.same
    assert {name for name, size in sizes.items() if size} == {group}


def test_metrics_can_be_read_whatever_names_are_in_them() -> None:
    odd = replace(HELD, subject='a "b"\\\nc{d}')
    lines = prometheus(replace(SICK, findings=(odd,), server='x"\n')).splitlines()
    sample = re.compile(r'[a-z_]+\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\} [0-9.e+-]+')
    assert all(line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line) for line in lines)
    # A family stands together, under its own head.
    names = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(names) == len(set(names))


def test_a_graph_with_quotes_in_it_is_still_a_graph() -> None:
    text = graph_dot(replace(SICK, findings=(replace(HELD, subject='a "b"\\'),)))
    assert '\\"b\\"\\\\' in text


def test_what_is_explained_at_second_hand_is_folded_as_well() -> None:
    assert [one.pathology for one in all_explained(SICK, HELD)] == ["dead-rows", "index-bloat"]
    circle: tuple[Finding, ...] = (replace(HELD, explained_by=(DEAD_ROWS.key,)), DEAD_ROWS)
    assert [one.key for one in all_explained(replace(SICK, findings=circle), circle[0])] == [DEAD_ROWS.key]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (Fact(name="dead rows", value=29_900_000, unit=Unit.ROWS), "dead rows 29,900,000"),
        (Fact(name="xmin behind", value=1, unit=Unit.TRANSACTIONS), "xmin behind 1 transaction"),
        (Fact(name="hit ratio", value=0.984, unit=Unit.SHARE), "hit ratio 98 %"),
        (Fact(name="state", value="idle\n in  transaction"), "state idle in transaction"),
        (Fact(name="size", value=3.2e9, unit=Unit.BYTES), "size 3.2 GB"),
        (Fact(name="WAL", value=12_300, unit=Unit.BYTES_PER_S), "WAL 12.3 kB/s"),
        (Fact(name="open for", value=8040.0, unit=Unit.SECONDS), "open for 2.2 h"),
        (Fact(name="open for", value=400_000.0, unit=Unit.SECONDS), "open for 4.6 days"),
        (Fact(name="mean", value=0.25, unit=Unit.MILLISECONDS), "mean 250 µs"),
        (Fact(name="mean", value=1500, unit=Unit.MILLISECONDS), "mean 1.5 s"),
        (Fact(name="left", value=1, unit=Unit.DAYS), "left 1 day"),
        (Fact(name="lookups a row", value=2.5, unit=Unit.RATIO), "lookups a row 2.50"),
        (Fact(name="slower by", value=2.5, unit=Unit.RATIO), "slower by 2.50x"),
        (Fact(name="scans", value=12_345), "scans 12,345"),
    ],
)
def test_a_fact_has_its_unit(fact: Fact, words: str) -> None:
    assert fact_words(fact) == words


def test_every_unit_and_every_kind_of_cost_has_words() -> None:
    assert all(fact_words(Fact(name="x", value=1.5, unit=unit)) for unit in Unit)
    assert all(cost_words(Cost(kind=kind, value=1.5)) for kind in CostKind)


@pytest.mark.parametrize("major", [13, 14, 15, 16, 17, 18])
def test_all_statements_can_be_printed_without_a_server(major: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checkup", "--print-sql", "--major", str(major)]) == 0
    text = capsys.readouterr().out
    sent = sent_statements(major)
    assert f"PostgreSQL {major}" in text.splitlines()[0]
    assert f"-- 1 of {len(sent)}: machine" in text
    assert f"-- {len(sent)} of {len(sent)}: settings" in text
    assert ("counters.io" in {one.part for one in sent}) is (major >= 16)
    assert run(["checkup", "--print-sql", "--json", "--major", str(major)]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(sent)
