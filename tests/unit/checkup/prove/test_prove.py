"""What a proof is made of, without a server: which treatments a twin can judge, and how time is shared out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fixtures.checkups import HELD, SICK, SNAPSHOT
from fixtures.ladder import ladder_verdict
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.prove import prove as prove_module
from pgclinic.checkup.prove.live_settings import BUFFERS_SHARE, fitting, live_settings
from pgclinic.checkup.prove.proof_by_study import proof_of
from pgclinic.checkup.prove.proof_request import ProofRequest, trials_in
from pgclinic.checkup.prove.prove import NOTICE_WEIGHT, in_order, in_turns, sharing, with_plans
from pgclinic.checkup.prove.twin_change import TwinChange, twin_changes
from pgclinic.checkup.statement_time import Meanwhile
from pgclinic.model.doubt import CpuTaken, Doubt, DoubtKind
from pgclinic.model.finding import Applies, Finding, Severity, TimeClaim, Treatment
from pgclinic.model.plan_proof import PlanProof, PlanWord
from pgclinic.model.query_plan import QueryPlan
from pgclinic.model.rewrite import Rewrite, RewriteCheck, RewriteKind, RewriteWord
from pgclinic.model.server import Server
from pgclinic.model.snapshot import SettingState
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.pg.session import Access
from pgclinic.report.words.findings import proof_words
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.typed_statement import typed_statement
from pgclinic.sql.unqualified import without_aliases
from pgclinic.study.read import read_study
from pgclinic.whatif.trials_in_time import BLOCKS_MIN, MEASURE_S_MAX, Trials, needed_s


def table(name: str, *columns: str) -> KnownTable:
    return KnownTable(f"public.{name}", {column: KnownColumn(column, "bigint") for column in columns})


SCHEMA = KnownSchema(
    {("public", "a"): table("a", "id", "b_id", "x", "y"), ("public", "b"): table("b", "id", "b_id", "z")}
)


def test_trials_are_as_long_as_the_time_allows() -> None:
    request = ProofRequest(Path())
    assert trials_in(1e6, request) == Trials(MEASURE_S_MAX)
    assert trials_in(needed_s() - 1.0, request) is None
    least = trials_in(needed_s() + 0.1, request)
    assert least is not None
    assert 1.0 <= least.measure_s < 1.2
    # Three arms need half as much again.
    assert trials_in(needed_s() + 0.1, request, arms=3) is None
    assert BLOCKS_MIN * 2 * (least.measure_s + 1.0) <= needed_s() + 0.1
    fixed = Trials(2.0, blocks=4)
    assert trials_in(0.0, ProofRequest(Path(), trials=fixed)) == fixed


def test_a_change_in_a_transaction_builds_nothing_concurrently() -> None:
    change = TwinChange(
        treatment=0,
        title="",
        settings={"random_page_cost": "1.1"},
        statements=("create index concurrently i on t (x)", "drop index concurrently if exists s.j"),
    )
    assert change.in_transaction == (
        "set local random_page_cost to '1.1'",
        "create index i on t (x)",
        "drop index concurrently if exists s.j".replace(" concurrently", ""),
    )
    assert change.creates_index


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select * from a join b on a.b_id = b.id where b.z = $1", (("b_id", "id"),)),
        ("select * from a join b on b.id = a.b_id where b.z = $1", (("b_id", "id"),)),
        ("select * from a join b using (b_id)", (("b_id", "b_id"),)),
        ("select * from a, b where a.b_id > b.id", (None,)),
        ("select * from a where exists (select 1 from b where b.id = a.b_id)", (("b_id", "id"),)),
    ],
)
def test_joins_name_the_columns_that_are_equal(text: str, columns: tuple[tuple[str, str] | None, ...]) -> None:
    assert tuple(join.columns for join in typed_statement(text, SCHEMA).joins) == columns


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("select * from a order by x, y", ("x", "y")),
        ("select * from a order by x desc, y desc limit $1", ("x", "y")),
        ("select * from a order by x desc, y", ()),
        ("select * from a order by x desc nulls last", ()),
        ("select * from a order by x + y", ()),
        ("select * from a, b order by a.x, b.z", ()),
    ],
)
def test_an_order_of_columns_of_one_table_is_known(text: str, ordered: tuple[str, ...]) -> None:
    assert typed_statement(text, SCHEMA).sources[0].ordered == ordered


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("lower(c.email)", "lower(email)"),
        ('date_trunc(\'day\', "Order"."Placed")', "date_trunc('day', \"Placed\")"),
        ("c.data ->> $1", None),
        ("c.x in (select 1)", None),
        ("lower(", None),
    ],
)
def test_an_expression_of_an_index_has_no_aliases(expression: str, plain: str | None) -> None:
    assert without_aliases(expression) == plain


def setting(name: str, value: str, default: str, category: str, unit: str | None = None) -> SettingState:
    return SettingState(
        name=name,
        value=value,
        unit=unit,
        source="configuration file",
        file=None,
        line=None,
        default_value=default,
        reset_value=value,
        context="user",
        kind="integer",
        category=category,
        pending_restart=False,
    )


SETTINGS = (
    setting("random_page_cost", "9", "4", "Query Tuning / Planner Cost Constants"),
    setting("plan_cache_mode", "force_generic_plan", "auto", "Query Tuning / Other Planner Options"),
    setting("shared_buffers", "8388608", "16384", "Resource Usage / Memory", "8kB"),
    setting("port", "5433", "5432", "Connections and Authentication / Connection Settings"),
    setting("work_mem", "4096", "4096", "Resource Usage / Memory", "kB"),
)
CASE = Case(replace(SNAPSHOT, settings=SETTINGS))


def changes(*treatments: Treatment) -> list[tuple[int, tuple[str, ...], dict[str, str]]]:
    found = twin_changes(CASE, replace(HELD, treatments=treatments))
    return [(one.treatment, one.statements, dict(one.before)) for one in found]


def sql(*statements: str, prevents: bool = False) -> Treatment:
    return Treatment(title="x", applies=Applies.STATEMENT, sql=statements, prevents=prevents)


def settings(**values: str) -> Treatment:
    return Treatment(title="x", applies=Applies.RELOAD, settings=values)


def test_a_twin_judges_settings_and_what_changes_the_schema() -> None:
    assert changes(settings(random_page_cost="1.1")) == [(0, (), {"random_page_cost": "9"})]
    assert changes(sql("create index concurrently i on t (x);")) == [(0, ("create index concurrently i on t (x)",), {})]
    assert changes(sql("alter table t alter column x type bigint")) != []
    # What cures stands before what prevents.
    found = changes(sql("drop index i", prevents=True), sql("create index j on t (x)"))
    assert [number for number, _, _ in found] == [1, 0]


def test_a_twin_does_not_judge_what_it_cannot_be_ill_with() -> None:
    assert changes(sql("select pg_terminate_backend(7)")) == []
    assert changes(sql("alter role app reset work_mem")) == []
    assert changes(sql("analyze t")) == []
    assert changes(sql("vacuum t"), sql("vacuum (analyze) t")) == []
    assert changes(sql("vacuum full t"), sql("vacuum (full) t")) != []
    assert changes(settings(plan_cache_mode="auto")) == []
    assert changes(settings(not_a_setting="1")) == []
    assert changes(Treatment(title="x", applies=Applies.APPLICATION)) == []


def test_indexes_that_go_go_together() -> None:
    found = twin_changes(
        CASE, replace(HELD, treatments=(sql("drop index concurrently a"), sql("drop index concurrently b")))
    )
    assert [(one.treatment, one.statements) for one in found] == [
        (0, ("drop index concurrently a", "drop index concurrently b"))
    ]


def test_the_settings_of_the_live_server_fit_the_machine() -> None:
    live = live_settings(CASE)
    assert live == {
        "random_page_cost": "9",
        "plan_cache_mode": "force_generic_plan",
        "shared_buffers": "64GB",
    }
    small = 10 * 2**30
    kept, smaller = fitting(live, CASE, small)
    assert kept["shared_buffers"] == f"{int(BUFFERS_SHARE * small) // 2**20}MB"
    assert smaller == ("shared_buffers = 2048MB in place of 64GB",)
    assert fitting(live, CASE, 2**50) == (live, ())


def test_all_cures_together_have_their_turn_behind_the_single_ones_and_before_what_is_no_cure() -> None:
    first, second, other = (replace(HELD, key=key) for key in ("a", "b", "c"))
    assert in_turns((first, other, second), ("a", "b")) == [first, second, None, other]
    assert in_turns((first, other), ()) == [first, other]
    notice = replace(other, severity=Severity.NOTICE)
    assert sharing(None, (notice,)) == 1.0 + NOTICE_WEIGHT
    assert sharing(notice, (None,)) == 2.0
    assert sharing(first, (None, notice)) == 2.0 + NOTICE_WEIGHT


def test_notices_are_proven_by_what_the_others_leave() -> None:
    def finding(key: str, severity: Severity, share: float) -> Finding:
        return replace(HELD, key=key, severity=severity, time_share=share)

    notice = finding("notice", Severity.NOTICE, 0.9)
    small, large = finding("small", Severity.WARNING, 0.1), finding("large", Severity.WARNING, 0.5)
    symptom = replace(finding("symptom", Severity.CRITICAL, 0.7), explained_by=("large",))
    ordered = in_order((notice, symptom, small, large), catalog())
    assert [one.key for one in ordered] == ["large", "small", "notice", "symptom"]
    assert sharing(large, [small, notice, symptom]) == 3.5
    # Alone among notices a warning does not take all there is.
    assert sharing(large, [notice] * 8) == 5.0
    assert sharing(notice, [symptom]) == 2
    # What plans show to be no cure has what the others leave.
    assert sharing(large, [small, notice, symptom], {"notice"}) == 3.0
    assert sharing(notice, [small, symptom], {"notice", "symptom"}) == 3.0


@pytest.mark.parametrize("word", [VerdictWord.REPLICATED, VerdictWord.INVALID])
def test_a_proof_by_a_study_has_the_doubts_of_its_blocks(word: VerdictWord) -> None:
    """Also where it says nothing: then they are why."""
    study, _ = read_study("global-counters")
    taken = Doubt(kind=DoubtKind.STARVED_CPU, share=0.6, facts=CpuTaken(obtained_s=4.0, available_s=10.0))
    first, *_ = ladder_verdict().claims
    verdict = replace(ladder_verdict(), claims=(replace(first, word=word),), doubts=(taken,))
    proof = proof_of(study.claims[0], verdict, on="study global-counters", run="runs/1")
    assert (proof.word is None) is (word is VerdictWord.INVALID)
    assert proof.doubts == (taken,)
    assert "60 %" in proof_words(HELD, proof)


FINDING = replace(
    HELD,
    key="missing-index:public.t (x)",
    pathology="missing-index",
    tables=("public.t",),
    claim=TimeClaim(query_ids=(7, 8)),
    proofs=(),
)


SERVER = Server(
    name="s", source="attached", version="16.4", version_num=160004, host="/", port=1, user="u", database="d"
)


class Trial:
    """Says of every statement that was written anew what ``word`` says, and of every change the same."""

    def __init__(self, word: RewriteWord) -> None:
        self._word = word

    def plans(self, should_stop: object) -> tuple[QueryPlan, ...]:
        return ()

    def page(self, query_id: int, unique: Sequence[str], should_stop: object) -> RewriteCheck:
        return RewriteCheck(word=self._word, draws=4, same=0)

    def tried(self, change: TwinChange, should_stop: object) -> PlanProof:
        return PlanProof(word=PlanWord.CURED, ratio=0.5, statements=(), tried=1, tried_time_share=1.0, draws=4)


@pytest.mark.parametrize(("word", "number"), [(RewriteWord.DIFFERENT, 0), (RewriteWord.OPEN, 1)])
def test_a_proof_is_of_its_treatment_after_one_in_front_of_it_was_dropped(
    word: RewriteWord, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement gives other rows, so that the index is the first treatment, and no longer the second."""
    written = Treatment(
        title="page by the key",
        applies=Applies.APPLICATION,
        rewrite=Rewrite(query_id=7, kind=RewriteKind.KEYSET_PAGE, unique=("id",)),
    )
    have = replace(FINDING, treatments=(written, sql("create index concurrently i on t (x)")))
    twin = SimpleNamespace(words="twin", wanted=SimpleNamespace(scale=1.0), on=None, meanwhile=Meanwhile())
    monkeypatch.setattr(prove_module, "proving_twin", lambda *asked: twin)
    monkeypatch.setattr(prove_module, "change_trial", lambda *asked: nullcontext(Trial(word)))
    checkup = replace(SICK, findings=(have,), fidelity=None)
    after = prove_module.prove(checkup, CASE, Access(SERVER), ProofRequest(tmp_path, budget_s=1.0))
    (found,) = after.findings
    (proof,) = found.proofs
    assert proof.treatment == number
    assert found.treatments[proof.treatment].sql == ("create index concurrently i on t (x)",)


def test_what_plans_make_part_of_another_finding_goes() -> None:
    """The index that one statement misses serves the other as well, once a plan shows by which columns."""
    part = replace(FINDING, key="missing-index:public.t (y)", claim=TimeClaim(query_ids=(8,)))
    other = replace(part, key="missing-index:public.u (y)", tables=("public.u",))
    both = replace(FINDING, key="missing-index:public.t (y, x)")
    before, after = (replace(SICK, findings=found) for found in ((part, other), (both,)))
    merged = with_plans(before, before, after)
    assert [finding.key for finding in merged.findings] == [both.key, other.key]
