"""Statements that a treatment writes anew are run on the twin beside the original before anybody reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.checkup.prove.proof_request import ProofRequest
from pgclinic.checkup.prove.prove import prove
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding
from pgclinic.model.rewrite import OpenBecause, RewriteCheck, RewriteWord
from pgclinic.report.words.findings import treatment_lines, treatment_words
from pgclinic.whatif import page_trial

CALLS = 15
SCHEMA = (
    "create table customers (id int primary key, credit int not null, name text not null, area text not null,"
    " pad text not null)",
    "insert into customers select n, n % 50, 'name ' || n % 300, case when n % 4 > 0 then 'north' else 'south' end,"
    " repeat('x', 150) from generate_series(1, 6000) n",
    # No two rows are known to differ, so a page by credit alone loses rows of the same credit.
    "create table visits (credit int not null, name text not null)",
    "insert into visits select n % 50, repeat('x', 200) || n from generate_series(1, 6000) n",
    "vacuum analyze",
    "select pg_stat_statements_reset()",
)
BY_KEY = "select id, name from customers order by id limit 10 offset 5500"
BY_CREDIT = "select id, credit from customers where area = 'north' order by credit desc, name limit 20 offset 3000"
ONE_PAGE = "select id from customers where credit = 3 and name = 'name 3' order by id limit 50 offset 5"
BY_NO_KEY = "select name from visits order by credit limit 10 offset 4000"


@contextmanager
def paged(major: str, *statements: str) -> Iterator[Patient]:
    with patient(major, {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA, *(statement for statement in statements for _ in range(CALLS)))
        yield made


def examined(server: Patient) -> tuple[Checkup, Case]:
    case = Case(take_snapshot(server.access))
    return examine(case, server="patient"), case


def proven(server: Patient, folder: Path) -> Checkup:
    """By plans alone: blocks of trials have no time."""
    checkup, case = examined(server)
    return prove(checkup, case, server.access, ProofRequest(folder=folder, budget_s=2.0, observe_s=0.5))


def paging(checkup: Checkup) -> dict[str, Finding]:
    return {finding.evidence[0].name: finding for finding in checkup.findings if finding.pathology == "offset-paging"}


def only(found: dict[str, Finding], words: str) -> Finding:
    (finding,) = (one for text, one in found.items() if words in text)
    return finding


@pytest.mark.parametrize("major", ["18", *drawn_majors("rewrites", ("13",))])
def test_a_statement_that_gives_the_same_rows_is_written(major: str, tmp_path: Path) -> None:
    with paged(major, BY_KEY, BY_CREDIT) as sick:
        before, _ = examined(sick)
        for finding in paging(before).values():
            (treatment,) = finding.treatments
            assert treatment.rewrite is not None
            assert (treatment.rewrite.statement, treatment.rewrite.check) == (None, None)
            assert treatment_lines(treatment) == ()
            assert "it writes the statement" in treatment_words(treatment)
        after = paging(proven(sick, tmp_path))
        for words, keys, statement in (
            ("order by id", ("id",), "SELECT id, name FROM customers WHERE id > $2 ORDER BY id LIMIT $1;"),
            (
                "order by credit",
                ("credit", "name", "id"),
                "SELECT id, credit FROM customers WHERE area = $1 AND (credit < $3 OR (credit = $3 AND (name, id)"
                " > ($4, $5))) ORDER BY credit DESC, name, id LIMIT $2;",
            ),
        ):
            finding = only(after, words)
            (treatment,) = finding.treatments
            rewrite = treatment.rewrite
            assert rewrite is not None
            assert rewrite.query_id == finding.evidence[0].query_id
            assert rewrite.keys == keys
            assert rewrite.check is not None
            assert (rewrite.check.word, rewrite.check.same, rewrite.check.draws) == (RewriteWord.SAME, 4, 4)
            assert treatment_lines(treatment) == (statement,)
            assert "same rows as the original in 4 of 4 draws on the twin" in treatment_words(treatment)
        by_key = only(after, "order by id").treatments[0].rewrite
        assert by_key is not None
        assert by_key.check is not None
        assert by_key.check.buffers is not None
        assert by_key.check.buffers_after is not None
        assert by_key.check.buffers_after < 0.5 * by_key.check.buffers


def test_one_that_gives_other_rows_is_dropped(tmp_path: Path) -> None:
    with paged("18", BY_NO_KEY) as sick:
        (finding,) = paging(proven(sick, tmp_path)).values()
    assert finding.treatments == ()
    assert "gives other rows than the original in 4 of 4 draws" in (finding.no_proof or "")


def test_one_that_the_server_refuses_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = page_trial.keyset_page

    def broken(text: str, unique: Sequence[str] = ()) -> object:
        page = written(text, unique)
        return page and page.__class__(**{**vars(page), "statement": page.statement.replace("id >", "nothing >")})

    monkeypatch.setattr(page_trial, "keyset_page", broken)
    with paged("18", BY_KEY) as sick:
        (finding,) = paging(proven(sick, tmp_path)).values()
    assert finding.treatments == ()
    assert 'column "nothing" does not exist' in (finding.no_proof or "")


def test_one_that_the_twin_cannot_judge_is_not_written(tmp_path: Path) -> None:
    """All rows that it finds are on the first page."""
    with paged("18", ONE_PAGE) as sick:
        (finding,) = paging(proven(sick, tmp_path)).values()
    (treatment,) = finding.treatments
    assert treatment.rewrite is not None
    assert treatment.rewrite.check == RewriteCheck(word=RewriteWord.OPEN, because=OpenBecause.ONE_PAGE)
    assert treatment_lines(treatment) == ()
    assert "the original has no second page there" in treatment_words(treatment)


def test_without_the_server_it_stays_in_words(tmp_path: Path) -> None:
    with paged("18", BY_KEY) as sick:
        checkup, case = examined(sick)
    (finding,) = paging(prove(checkup, case, None, ProofRequest(folder=tmp_path, budget_s=2.0))).values()
    assert treatment_lines(finding.treatments[0]) == ()
    assert "there is no twin: a twin needs the live server" in treatment_words(finding.treatments[0])


def test_the_command_prints_no_statement_that_it_has_not_checked(command: Command, tmp_path: Path) -> None:
    new = "WHERE id > $2"
    with paged("18", BY_KEY) as sick:
        server = sick.running.server
        place = f"host={server.host} port={server.port} dbname=postgres user=postgres"
        for option in ((), ("--full",), ("--json",), ("--markdown", "-")):
            ran = command.run("checkup", place, "--observe", "0", *option, timeout=60)
            assert ran.returncode == 0, ran.stderr
            assert new not in ran.stdout
        ran = command.run("checkup", place, "--observe", "0", "--prove", "--budget", "2s", "--json", timeout=120)
        assert ran.returncode == 0, ran.stderr
    findings = json.loads(ran.stdout)["checkup"]["findings"]
    (found,) = [finding for finding in findings if finding["pathology"] == "offset-paging"]
    assert new in found["treatments"][0]["rewrite"]["statement"]
    assert found["treatments"][0]["rewrite"]["check"]["word"] == "same rows"
