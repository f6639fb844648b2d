"""The tables of claims in BENCHMARKS, README and docs/evidence are what the kept runs say when they are judged anew."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from fixtures.tool import tool
from pgclinic.judge.regions import outside
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.study.read import shipped_studies

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "write-claims-table"
AGAIN = "make claims-table writes the tables from the runs that are kept in docs/evidence"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    return tool(TOOL.name)


@pytest.fixture
def copied(tmp_path: Path, program: ModuleType) -> Path:
    """The documents and one archive, to be changed."""
    for name in (*program.DOCUMENTS, "docs/evidence/global-counters-demo.tar.xz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def write_tables(root: Path) -> str:
    command = [sys.executable, str(TOOL), "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def table(document: Path, part: str) -> list[str]:
    found = re.search(rf"<!-- {part} -->\n(.*?)<!-- end -->", document.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return [line for line in found[1].splitlines() if line]


def test_every_figure_is_what_the_kept_runs_say(program: ModuleType) -> None:
    runs = program.kept_runs(ROOT / program.EVIDENCE)
    assert runs
    for name in program.DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert program.with_table(name, text, runs) == text, AGAIN


def test_no_kept_claim_is_open_whose_region_is_excluded(program: ModuleType) -> None:
    claims = [claim for run in program.kept_runs(ROOT / program.EVIDENCE) for claim in run.verdict.claims]
    refuted = {VerdictWord.NOT_REPLICATED, VerdictWord.NOT_CONFIRMED}
    assert {claim.word for claim in claims} >= refuted
    for claim in claims:
        interval = claim.interval
        if interval is None or interval.low is None or interval.high is None:
            continue
        if outside((interval.low, interval.high), claim.region_edges):
            assert claim.word is not VerdictWord.INCONCLUSIVE, claim.claim
        else:
            assert claim.word not in refuted, claim.claim


def test_every_archive_is_listed(program: ModuleType) -> None:
    listed = {line.split("`")[1] for line in table(ROOT / "docs/evidence/README.md", "archives") if "`" in line}
    assert listed == {archive.name for archive in (ROOT / program.EVIDENCE).glob("*.tar.xz")}
    studies = {line.split("]")[0].removeprefix("| [") for line in table(ROOT / "README.md", "studies") if "](" in line}
    assert studies <= set(shipped_studies())


def test_a_figure_that_somebody_changed_is_written_anew(copied: Path) -> None:
    write_tables(copied)
    document = copied / "BENCHMARKS.md"
    right = document.read_text(encoding="utf-8")
    figure = re.search(r"held-is-slower \| (\d\.\d\d)x", right)
    assert figure is not None
    document.write_text(right.replace(figure[0], figure[0].replace(figure[1], "0.99")), encoding="utf-8")
    write_tables(copied)
    assert document.read_text(encoding="utf-8") == right


def test_other_evidence_gives_other_figures(copied: Path) -> None:
    write_tables(copied)
    before = table(copied / "BENCHMARKS.md", "claims")
    archive = copied / "docs/evidence/global-counters-demo.tar.xz"
    with tarfile.open(archive) as old:
        members = [(member, old.extractfile(member)) for member in old.getmembers()]
        contents = [(member, file.read()) for member, file in members if file is not None]
    with tarfile.open(archive, "w:xz") as new:
        for member, content in contents:
            changed = halved(content) if member.name.endswith("/record.json") else content
            member.size = len(changed)
            new.addfile(member, io.BytesIO(changed))
    write_tables(copied)
    after = table(copied / "BENCHMARKS.md", "claims")
    assert [line.split(" | ")[1] for line in before[-1:]] == [line.split(" | ")[1] for line in after[-1:]]
    assert before != after


def halved(record: bytes) -> bytes:
    """The record with half of the held arm's transactions in every second."""
    values = json.loads(record)
    if values["spec"]["arm"] == "held":
        for second in values["load"]["seconds"]:
            second["transactions"] //= 2
    return json.dumps(values).encode()


def test_a_document_without_its_place_is_refused(copied: Path) -> None:
    (copied / "README.md").write_text("nothing\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(TOOL), "--root", str(copied)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "README.md has 0 parts between <!-- studies --> and <!-- end -->" in done.stderr
