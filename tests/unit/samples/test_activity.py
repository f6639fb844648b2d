"""Why one arm is slower, from records alone: what is clear is named, what may be chance is not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fixtures.comparison import SECONDS, asked, measured
from fixtures.planned import judge
from fixtures.records import histogram
from pgclinic.judge.comparison import compare
from pgclinic.model.activity import Activity, CauseKind, WorkKind
from pgclinic.model.load import ScriptResult, StatementResult
from pgclinic.model.log import LogOrigin, PlanLogged
from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.report.sections.waits.two_arms import activity_lines, why_words
from pgclinic.samples.activity import compare_activity
from pgclinic.samples.causes import find_causes
from pgclinic.samples.clear_difference import Values, clear_differences
from pgclinic.samples.plan_nodes import nodes_of, only_in
from pgclinic.samples.wait_groups import group_of
from pgclinic.study.compare import PROFILE, B

SEQ = "Aggregate  (cost=1.00..2.00 rows=1 width=8)\n  ->  Seq Scan on orders  (cost=0.00..1.00 rows=9 width=4)"
INDEX = "Index Scan using orders_pkey on orders  (cost=0.29..8.30 rows=1 width=33)\n  Index Cond: (id = 7)"
FIND = "select word from orders where id = :id;"
HALF = (0.5, 0.51, 0.49, 0.505)
Pair = tuple[float, float]


def activity_of(trials: Sequence[TrialRecord]) -> Activity:
    found = compare_activity(list(zip(trials[::2], trials[1::2], strict=True)))
    assert found is not None
    return found


def why(trials: Sequence[TrialRecord], slower: str = "b") -> str | None:
    return why_words(find_causes(activity_of(trials), slower))


def counted(trials: Sequence[TrialRecord], **each: Pair) -> tuple[TrialRecord, ...]:
    """Counters of the database grow by so much for each transaction of a and of b, within 2 % from block to block."""
    draw = random.Random(1)
    records = []
    for record in trials:
        assert record.load is not None
        done = record.load.transactions * draw.uniform(0.98, 1.02)
        grown: Row = {name: pair[record.spec.arm == B] * done for name, pair in each.items()}
        zero: Row = dict.fromkeys(grown, 0)
        samples = [Sample(at_s=at, view="database", rows=(row,)) for at, row in ((0.0, zero), (float(SECONDS), grown))]
        records.append(replace(record, samples=Samples(taken=(*record.samples.taken, *samples))))
    return tuple(records)


def waiting(trials: Sequence[TrialRecord], event: str, sessions: Pair, spread: float = 0.05) -> tuple[TrialRecord, ...]:
    """So many of the sessions of a and of b wait for ``event`` whenever somebody looks."""
    draw = random.Random(2)
    kind, name = event.split(":")
    records = []
    for record in trials:
        amount = sessions[record.spec.arm == B] * draw.uniform(1 - spread, 1 + spread)
        row: Row = {"backend_type": "client backend", "state": "active", "wait_event_type": kind, "wait_event": name}
        other: Row = {**row, "backend_type": "autovacuum worker", "backends": 3}
        taken = tuple(
            Sample(at_s=float(at), view="activity", rows=({**row, "backends": amount}, other)) for at in range(SECONDS)
        )
        records.append(replace(record, samples=Samples(taken=(*record.samples.taken, *taken))))
    return tuple(records)


def planned(trials: Sequence[TrialRecord], plans: tuple[str, str], ms: Pair) -> tuple[TrialRecord, ...]:
    """One statement that takes so long in a and in b, by these plans."""
    records = []
    for record in trials:
        assert record.load is not None
        side = record.spec.arm == B
        latency = histogram(record.load.transactions, ms[side] * 1000)
        statement = StatementResult(line=1, text=FIND, executions=latency.count, failures=0, latency=latency)
        script = ScriptResult(
            name="find.sql",
            weight=1,
            transactions=record.load.transactions,
            failed=0,
            skipped=0,
            retried=0,
            retries=0,
            latency=latency,
            statements=(statement,),
        )
        event = PlanLogged(
            origin=LogOrigin(),
            duration_us=900,
            plan_format="text",
            query_id=None,
            query_text="select word from orders where id = 4711;",
            plan=plans[side],
        )
        events = TrialEvents(kept=(TrialEvent(at_s=9.0, event=event),))
        records.append(replace(record, load=replace(record.load, scripts=(script,)), events=events))
    return tuple(records)


@pytest.mark.parametrize(
    ("a", "b", "clear"),
    [
        ((1.0, 1.1, 0.9, 1.0), (2.0, 2.1, 1.9, 2.0), True),
        ((1.0, 1.1, 0.9, 1.0), (1.1, 1.0, 1.2, 0.9), False),
        # The same arm has more in each, but by anything from hardly to threefold.
        ((1.0, 1.0, 1.0, 1.0), (1.01, 3.0, 1.02, 1.4), False),
        ((0.0, 0.0, 0.0, 0.0), (5.0, 5.1, 4.9, 5.0), True),
        ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), False),
        ((1.0, 1.0, 1.0), (9.0, 9.1, 8.9), False),
    ],
)
def test_a_difference_is_clear_beyond_what_blocks_differ_by(
    a: Sequence[float], b: Sequence[float], clear: bool
) -> None:
    assert clear_differences([(a, b)]) == (clear,)
    assert clear_differences([(b, a)]) == (clear,)


def _figures(draw: random.Random, statements: int, blocks: int, *, faster: float = 1.0) -> list[Values]:
    """Lists of equal figures at 10 % noise, the first of them that much larger in the second arm."""
    arms = [[[draw.lognormvariate(0, 0.1) for _ in range(blocks)] for _ in range(statements)] for _ in range(2)]
    arms[1][0] = [value * faster for value in arms[1][0]]
    return list(zip(*arms, strict=True))


def test_of_thirty_equal_statements_none_is_called_slower() -> None:
    draw = random.Random(7)
    assert sum(any(clear_differences(_figures(draw, 30, 5))) for _ in range(200)) <= 12


def test_one_of_thirty_that_takes_half_again_as_long_is_found_in_five_blocks() -> None:
    draw = random.Random(7)
    found = [clear_differences(_figures(draw, 30, 5, faster=1.5)) for _ in range(40)]
    assert sum(one[0] for one in found) >= 32
    assert sum(any(one[1:]) for one in found) <= 5


def test_a_figure_that_some_blocks_lack_never_differs_and_spoils_no_other() -> None:
    equal, other = (1.0, 1.1, 0.9, 1.0), (2.0, 2.1, 1.9, 2.0)
    assert clear_differences([(equal, other), (equal[:2], other[:2])]) == (True, False)
    assert clear_differences([]) == ()


def test_plans_that_take_the_time_lead() -> None:
    # Ten sessions and 2,000 TPS: each transaction has 5 ms.
    trials = planned(measured(HALF, tps=2000), (INDEX, SEQ), (5.0, 10.0))
    trials = counted(trials, hits=(3, 60), reads=(0, 0))
    words = why(trials) or ""
    assert words.startswith("plans differ: Index Scan using orders_pkey on orders (a) -> Aggregate, Seq Scan on orders")
    assert "; buffers visited per transaction: " in words
    (statement,) = activity_of(trials).statements
    assert statement.plans_differ and statement.clear
    assert statement.explains == pytest.approx(1.0, abs=0.05)
    lines = activity_lines(activity_of(trials), 70)
    assert "    plan of a: Index Scan using orders_pkey on orders" in lines
    assert max(map(len, lines)) <= 70


def test_the_same_plan_and_a_plan_of_no_account_are_no_cause() -> None:
    assert why(planned(measured(HALF, tps=2000), (SEQ, SEQ), (5.0, 10.0))) is None
    assert why(planned(measured(HALF, tps=2000), (INDEX, SEQ), (5.0, 5.0))) is None
    # The arm that is faster has the slower statement.
    assert why(planned(measured(HALF, tps=2000), (INDEX, SEQ), (10.0, 5.0))) is None


def test_a_plan_that_either_arm_may_have_is_no_difference() -> None:
    trials = list(planned(measured(HALF, tps=2000), (INDEX, SEQ), (5.0, 10.0)))
    trials[1] = replace(trials[1], events=trials[0].events)
    assert why(trials) is None


def test_temporary_files_against_none() -> None:
    trials = counted(measured(HALF), temp_bytes=(0, 20_000))
    (cause,) = find_causes(activity_of(trials), "b")
    assert cause.kind is CauseKind.WORK and cause.work is not None and cause.work.work is WorkKind.TEMPORARY_FILES
    assert cause.effect == 1.0
    assert (why(trials) or "").startswith("temporary files: none (a) against ")
    assert (why(trials) or "").endswith(" MB/s (b)")
    # They do not explain why the other one is slower.
    assert why(trials, "a") is None


def test_waits_count_by_the_time_they_take() -> None:
    trials = waiting(measured(HALF), "IO:WALSync", (0.0, 5.0))
    (cause,) = find_causes(activity_of(trials), "b")
    assert cause.wait is not None and cause.wait.wait == "WAL"
    # Half of the sessions, in twice the time, of which half is more than before.
    assert cause.effect == pytest.approx(1.0, abs=0.1)
    assert (why(trials) or "").startswith("sessions waiting for WAL: none (a) against ")
    assert group_of("IO:WalSync") == group_of("LWLock:WALWrite") == "WAL"
    assert why(waiting(measured(HALF), "IO:WALSync", (0.0, 0.2))) is None, "too little to matter"
    assert why(waiting(measured(HALF), "Lock:tuple", (2.0, 3.0), spread=0.9)) is None, "not clear"


def test_what_matters_most_comes_first() -> None:
    trials = counted(measured(HALF), temp_bytes=(10_000, 20_000), hits=(3, 9), reads=(0.01, 30))
    found = find_causes(activity_of(trials), "b")
    assert [cause.work.work for cause in found if cause.work is not None] == [
        WorkKind.BUFFER_READS,
        WorkKind.TEMPORARY_FILES,
        WorkKind.BUFFERS,
    ]


def test_arms_that_do_the_same_have_no_cause_and_an_open_answer_names_none() -> None:
    same = counted(measured((1.0, 1.01, 0.99, 1.0)), temp_bytes=(5000, 5000), hits=(3, 3), reads=(1, 1))
    assert why(same) is None and why(same, "a") is None
    study = asked(blocks=4)
    profile = study.profiles[PROFILE]
    for ratios, named in ((HALF, 1), ((1.0, 1.01, 0.99, 1.0), 0), ((0.5, 1.4, 0.8, 1.2), 0)):
        trials = counted(measured(ratios), temp_bytes=(0, 20_000))
        seen = compare(study, trials, judge(study, trials, profile), profile)
        assert len(seen.causes) == named, seen.word
        lines = compare_text(seen, trials, RunPaths()).splitlines()
        assert sum(line.startswith("  why         temporary files: none (a) against ") for line in lines) == named
        assert seen.activity is not None


def test_nodes_of_a_plan() -> None:
    event = PlanLogged(origin=LogOrigin(), duration_us=1, plan_format="text", query_id=None, query_text=None, plan=SEQ)
    assert nodes_of(event) == ("Aggregate", "Seq Scan on orders")
    assert nodes_of(replace(event, plan_format="json", plan="{}")) == ()
    assert only_in(("Sort", "Seq Scan on a", "Seq Scan on a"), ("Seq Scan on a",)) == ("Sort", "Seq Scan on a")
    assert only_in(("Seq Scan on a",), ("Sort", "Seq Scan on a")) == ()
    assert only_in(("Hash Join", "Scan a", "Scan b"), ("Hash Join", "Scan b", "Scan a")) == (
        "Hash Join",
        "Scan a",
        "Scan b",
    )
