"""Which plans a report shows: those of two arms that differ, those before and after a treatment, a server's own."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.checkups import SICK, SNAPSHOT
from fixtures.comparison import asked, measured
from fixtures.planned import judge
from fixtures.records import StudyRun, run_info
from fixtures.statements import SELECT, UPDATE, Counted, events_of, plan, script, sent, statistics
from pgclinic.judge.comparison import compare
from pgclinic.model.activity import Activity, StatementCompared
from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan
from pgclinic.model.query_plan import PlanNode, PlanSource, QueryPlan
from pgclinic.model.snapshot import StatementText
from pgclinic.model.trial import TrialRecord
from pgclinic.report.kinds import STUDY, study_page
from pgclinic.report.markdown import report_markdown
from pgclinic.report.reported import ReportedCheckup, ReportedStudy
from pgclinic.report.sections.plans.tree import nodes_in
from pgclinic.report.sections.plans.view import (
    PlanShown,
    StatementPlans,
    plans_view,
    server_plans,
    treated_plans,
)
from pgclinic.study.compare import PROFILE

RUN = StudyRun(blocks=2)
TRIALS, SECONDS = RUN.make()
SENT = "UPDATE accounts SET balance = balance + 1 WHERE id = 1"
COUNTED = (Counted(11, "UPDATE accounts SET balance = balance + $1 WHERE id = $2", calls=1000, total_ms=80.0),)
INDEX = "Index Scan using accounts_pkey on accounts  (cost=0.28..8.29 rows=1 width=4)"
SEQUENTIAL = "Seq Scan on accounts  (cost=0.00..20.50 rows=1 width=4)"


def reported(held: str, free: str = INDEX) -> ReportedStudy:
    def with_plan(trial: TrialRecord) -> TrialRecord:
        assert trial.load is not None
        text = held if trial.spec.arm == "held" else free
        return replace(
            trial,
            samples=statistics(*COUNTED),
            events=events_of(plan(SENT, text, query_id=11, ms=2.0)),
            load=replace(trial.load, scripts=(script(sent(UPDATE), sent(SELECT)),)),
        )

    trials = tuple(map(with_plan, TRIALS))
    return ReportedStudy(run_info(), RUN.study, trials, SECONDS, judge(RUN.study, trials), ".")


def kinds(one: PlanShown) -> list[tuple[str, str]]:
    return [(node.kind, node.change) for node in nodes_in(one.tree.top)] if one.tree is not None else []


def test_arms_with_different_plans_stand_beside_each_other() -> None:
    seen = plans_view(reported(SEQUENTIAL))
    assert seen is not None
    assert seen.lead == "1 statement has more than one plan."
    (one,) = seen.statements
    assert one.differ
    assert [(shown.label, kinds(shown)) for shown in one.plans] == [
        ("free", [("Index Scan", "other node")]),
        ("held", [("Seq Scan", "other node")]),
    ]
    assert one.plans[1].words == "logged 2 times, mean 2 ms; this one, the slowest, took 2 ms"


def test_markdown_has_the_plans_that_differ() -> None:
    text = report_markdown(STUDY, reported(SEQUENTIAL))
    assert "    Seq Scan on accounts  (100 % of estimated cost, rows: 1 estimated)  [other node]" in text.splitlines()
    assert "#### Plans" not in report_markdown(STUDY, reported(INDEX))


def test_the_same_plan_in_both_arms_is_one() -> None:
    seen = plans_view(reported(INDEX))
    assert seen is not None
    (one,) = seen.statements
    assert (one.differ, [shown.label for shown in one.plans]) == (False, ["free, held"])
    assert kinds(one.plans[0]) == [("Index Scan", "")]
    assert plans_view(ReportedStudy(run_info(), RUN.study, TRIALS, SECONDS, judge(RUN.study, TRIALS), ".")) is None


def test_a_plan_that_cannot_be_read_is_shown_as_it_was_logged() -> None:
    seen = plans_view(reported("no plan", "no plan"))
    assert seen is not None
    (shown,) = seen.statements[0].plans
    assert (shown.tree, shown.text.splitlines()[-1]) == (None, "no plan")


def test_a_comparison_with_the_names_of_nodes_alone_shows_those() -> None:
    study = asked()
    trials = measured((1.5,) * 5)
    profile = study.profiles[PROFILE]
    verdict = judge(study, trials, profile)
    differ = StatementCompared(
        text="select 1",
        a_us=1.0,
        b_us=2.0,
        clear=True,
        a_plan=("Seq Scan on <script>",),
        b_plan=("Sort", "Index Scan"),
        plans_differ=True,
    )
    same = replace(differ, text="select 2 from t", b_plan=differ.a_plan, plans_differ=False)
    activity = Activity(a_sessions=1, b_sessions=1, statements=(same, differ))
    comparison = replace(compare(study, trials, verdict, profile), activity=activity)
    seen = plans_view(ReportedStudy(run_info(), study, trials, (), verdict, ".", comparison))
    assert seen is not None
    first, second = seen.statements
    assert (first.statement, [kinds(shown) for shown in first.plans]) == (
        "select 1",
        [[("Seq Scan on <script>", "gone")], [("Sort", "new"), ("Index Scan", "new")]],
    )
    assert (second.differ, [shown.label for shown in second.plans]) == (False, ["a, b"])
    page = study_page(ReportedStudy(run_info(), study, trials, (), verdict, "runs/x", comparison))
    assert "Seq Scan on &lt;script&gt;" in page
    assert "on <script>" not in page


def by_plan(**fields: object) -> StatementByPlan:
    one = StatementByPlan(
        query_id=1, text="select 1", time_share=0.5, plan="Sort(Seq Scan orders)", plan_after="Index Scan orders o_idx"
    )
    return replace(one, **fields)


def treated(*statements: StatementByPlan) -> tuple[StatementPlans, ...]:
    return treated_plans(
        PlanProof(word=PlanWord.CURED, ratio=0.1, statements=statements, tried=2, tried_time_share=1.0, draws=4)
    )


def test_plans_before_and_after_a_treatment_have_the_figures_of_the_record() -> None:
    scan = PlanNode(depth=0, kind="Seq Scan", rows_planned=9.0, relation="orders", rows=9.0, loops=1.0, buffers=90.0)
    found = replace(scan, kind="Index Scan", index="o_idx", buffers=3.0)
    (one,) = treated(by_plan(nodes=(scan,), nodes_after=(found,)), by_plan(query_id=2, plan_after=by_plan().plan))
    before, after = one.plans
    assert (before.label, after.label) == ("As it is", "Treated")
    assert kinds(before) == [("Seq Scan", "other node")]
    assert after.tree is not None
    assert after.tree.top.figures == ("9 rows (9 estimated)", "3 buffers")
    assert before.words == ""


def test_an_older_record_has_the_nodes_without_figures() -> None:
    minor, major = by_plan(time_share=0.1, text="select 2"), by_plan()
    first, second = treated(minor, major)
    assert (first.statement, second.statement) == ("select 1", "select 2")
    assert [kinds(shown) for shown in first.plans] == [
        [("Sort", "gone"), ("Seq Scan orders", "gone")],
        [("Index Scan orders o_idx", "new")],
    ]
    assert "no figures" in first.plans[0].words
    assert treated(by_plan(plan="Sort(")) == ()
    assert treated_plans(None) == ()


def test_the_plans_of_a_snapshot_have_the_texts_of_their_statements() -> None:
    nodes = (PlanNode(depth=0, kind="Seq Scan", rows_planned=9.0, relation="orders", cost=5.0),)
    plans = (
        QueryPlan(source=PlanSource.GENERIC, nodes=nodes, query_id=5),
        QueryPlan(source=PlanSource.GENERIC, nodes=nodes, query_id=6),
        QueryPlan(source=PlanSource.LOG, nodes=nodes, statement="select ?", duration_ms=2.5),
    )
    snapshot = replace(SNAPSHOT, plans=plans, statement_texts=(StatementText(query_id=5, text="select $1"),))
    seen = server_plans(ReportedCheckup(SICK, snapshot, None, None))
    assert seen is not None
    assert [(one.statement, one.plans[0].words) for one in seen.statements] == [
        ("select $1", "by EXPLAIN for any parameters, not executed"),
        ("select ?", "from the server's log, took 2.5 ms"),
    ]
    assert server_plans(ReportedCheckup(SICK, SNAPSHOT, None, None)) is None
