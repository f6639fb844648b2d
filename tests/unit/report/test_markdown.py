"""Runs as Markdown: the same sections as on the page, tables that are whole, texts that steer nothing."""

from __future__ import annotations

import re
import tarfile
from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, run_info
from fixtures.tree import ROOT
from pgclinic.report.kept_run import judged_run, rendered_run
from pgclinic.report.kinds import STUDY
from pgclinic.report.markdown import plain_markdown, report_markdown, text_markdown
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.words.answers import answer_sentence
from pgclinic.store.run_list import FoundRun, found_run

EVIDENCE = ROOT / "docs/evidence"
ARCHIVES = {
    "study": EVIDENCE / "global-counters-demo.tar.xz",
    **{
        kind: EVIDENCE / f"pages/{kind}.tar.xz" for kind in ("compare", "bench", "checkup", "assay", "search", "bisect")
    },
}


def kept(kind: str, folder: Path) -> FoundRun:
    with tarfile.open(ARCHIVES[kind]) as archive:
        archive.extractall(folder, filter="data")
    return judged_run(found_run(next(folder.rglob("run.json")).parent))


def figures(text: str) -> set[str]:
    return set(re.findall(r"\d[\d,.]*\d", text))


@pytest.mark.parametrize("kind", ARCHIVES)
def test_markdown_begins_with_the_answer_and_has_its_figures(kind: str, tmp_path: Path) -> None:
    found = kept(kind, tmp_path)
    text = rendered_run(found).markdown()
    assert text.startswith("### ")
    assert found.answer is not None
    assert figures(answer_sentence(found.answer)) <= figures(text)


@pytest.mark.parametrize("kind", ARCHIVES)
def test_each_row_of_a_table_has_as_many_cells_as_its_head(kind: str, tmp_path: Path) -> None:
    lines = rendered_run(kept(kind, tmp_path)).markdown().splitlines()
    tables = [list(rows) for is_row, rows in groupby(lines, lambda line: line.startswith("|")) if is_row]
    for table in tables:
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in table} == {len(re.findall(r"(?<!\\)\|", table[0]))}
        assert re.fullmatch(r"\|(?:-{3}:?\|)+", table[1]), table[:2]


def test_texts_of_a_study_are_no_marks_of_markdown() -> None:
    study = global_counters()
    hostile = replace(study, title="<script>alert(1)</script> | *bold* [a](b)")
    trials = blocks_of(study, [0.5, 0.5])
    one = ReportedStudy(run_info(), hostile, trials, (), judge(hostile, trials), "runs/x")
    head = report_markdown(STUDY, one).splitlines()[0]
    assert "\\<script\\>" in head
    assert re.findall(r"(?<!\\)[<>|*\[\]]", head) == []


def test_a_text_that_has_a_fence_stays_inside_its_own() -> None:
    assert text_markdown("a", "```\nb\n```").splitlines()[2] == "````text"


def test_a_text_is_one_line() -> None:
    assert plain_markdown("a\n  b_c") == "a b\\_c"
