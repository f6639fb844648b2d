"""Doubts that all blocks of a claim show together, each at both sides of its threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import blocks_of, failed_trial, global_counters, trial
from pgclinic.judge.doubts.stalled_trials import is_stalled
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.doubt import Doubt, DoubtKind, SpeedsApart, TrialsStalled
from pgclinic.model.log import LogOrigin, PlanLogged
from pgclinic.model.study import Claim, Counter, Mechanism
from pgclinic.model.trial import Probe, TrialRecord
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.report.words.doubts import doubt_words

STUDY = global_counters()
CLAIM: Claim = replace(STUDY.claims[0], mechanisms=(), tail_s=None, published_windows=None)
STUDY = replace(STUDY, claims=(CLAIM,))
DOCS = Path(__file__).parents[4] / "docs"


def doubt(trials: Sequence[TrialRecord], kind: DoubtKind, claim: Claim = CLAIM) -> Doubt | None:
    found = [one for one in judge(replace(STUDY, claims=(claim,)), tuple(trials)).doubts if one.kind is kind]
    return found[0] if found else None


def test_every_doubt_has_its_line_in_the_documents() -> None:
    text = (DOCS / "concepts" / "verdicts.md").read_text()
    assert [kind.value for kind in DoubtKind if f"`{kind.value}`" not in text] == []


@pytest.mark.parametrize(
    ("events", "usual", "stalled"),
    [
        (0, 10_000, True),
        (500, 10_000, True),
        (501, 10_000, False),
        # Chance gives none where seven are the rule in 0.9 of 1000 cases, and where six are in 2.5.
        (0, 7.0, True),
        (0, 6.0, False),
    ],
)
def test_a_trial_stalls_below_a_share_of_the_usual_and_not_by_chance(
    events: int, usual: float, *, stalled: bool
) -> None:
    assert is_stalled(events, usual) is stalled


def test_a_stalled_trial_is_a_doubt_also_where_its_block_is_left_out() -> None:
    steady = list(blocks_of(STUDY, [1.0] * 6, seconds=10))
    assert doubt(steady, DoubtKind.STALLED_TRIAL) is None
    stopped = list(steady)
    stopped[11] = replace(steady[11], load=replace(trial(STUDY, 12, 6, "held", [0] * 10).load))  # type: ignore[type-var]
    seen = doubt(stopped, DoubtKind.STALLED_TRIAL)
    assert seen is not None
    assert doubt_words(seen).text.startswith("1 trial of 12 stalled: held (trial 12) had 0 transactions in 10 s")
    stopped[10] = replace(steady[10], load=replace(trial(STUDY, 11, 6, "free", [0] * 10).load))  # type: ignore[type-var]
    assert judge(STUDY, tuple(stopped)).headline.interval is not None
    both = doubt(stopped, DoubtKind.STALLED_TRIAL)
    assert both is not None
    assert doubt_words(both).text.startswith("2 trials of 12 stalled")


def with_order_effect(change: float) -> tuple[TrialRecord, ...]:
    noise = (1.0, 1.003, 0.998, 1.001, 0.999, 1.002)
    ratios = [0.6 * wobble * (1 + change) ** (1 if block % 2 else -1) for block, wobble in enumerate(noise, start=1)]
    return blocks_of(STUDY, ratios, control_tps=1e6)


@pytest.mark.parametrize(("change", "doubted"), [(0.04, False), (0.06, True), (-0.04, False), (-0.06, True)])
def test_an_order_effect_beyond_the_equivalence_margin_is_a_doubt(change: float, *, doubted: bool) -> None:
    seen = doubt(with_order_effect(change), DoubtKind.ORDER_EFFECT)
    assert (seen is not None) is doubted
    if seen is not None:
        assert f"{abs(change):.0%}".replace("%", " %") in doubt_words(seen).text
        assert ("faster" if change > 0 else "slower") in doubt_words(seen).text


def test_noise_alone_is_no_order_effect() -> None:
    ratios = [0.6 * math.exp(value) for value in (0.3, -0.2, 0.1, 0.25, -0.3, -0.1)]
    assert doubt(blocks_of(STUDY, ratios), DoubtKind.ORDER_EFFECT) is None


def test_one_order_in_all_blocks_is_a_doubt() -> None:
    """As four shuffled blocks have in one run of eight."""
    trials = [
        replace(one, spec=replace(one.spec, position=1 if one.spec.arm == "free" else 2))
        for one in blocks_of(STUDY, [0.6] * 4)
    ]
    seen = doubt(trials, DoubtKind.ORDER_EFFECT)
    assert seen is not None
    assert doubt_words(seen).text.startswith("free ran before held in each of the 4 blocks")
    assert doubt(trials[:6], DoubtKind.ORDER_EFFECT) is None, "three blocks have no CI yet"


@pytest.mark.parametrize(("blocks", "doubted"), [(10, True), (11, False)])
def test_trials_lost_in_one_arm_are_a_doubt_from_a_tenth_on(blocks: int, *, doubted: bool) -> None:
    trials = list(blocks_of(STUDY, [0.6] * blocks))
    trials[1] = failed_trial(STUDY, 2, 1, "held", "killed", server_version="18.6")
    seen = doubt(trials, DoubtKind.TRIALS_LOST)
    assert (seen is not None) is doubted
    if seen is not None:
        assert doubt_words(seen).text == "of free 0 of 10 trials and held 1 of 10 trials cannot be used"
    trials[2] = failed_trial(STUDY, 3, 2, "free", "killed", server_version="18.6")
    assert doubt(trials, DoubtKind.TRIALS_LOST) is None, "both arms lost as many"


def with_counter(counter: str, control: float, arm: float) -> list[TrialRecord]:
    return [
        replace(one, counters=one.counters | {counter: control if one.spec.arm == "free" else arm})
        for one in blocks_of(STUDY, [0.6] * 5, seconds=10)
    ]


@pytest.mark.parametrize("counter", [Counter.VACUUMS_PER_S, Counter.ANALYZES_PER_S])
def test_autovacuum_in_one_arm_only_is_a_doubt(counter: Counter) -> None:
    seen = doubt(with_counter(counter, 0.0, 0.1), DoubtKind.AUTOVACUUM_IN_ONE_ARM)
    assert seen is not None
    assert "ran 1 time in held and not in free" in doubt_words(seen).text
    assert doubt(with_counter(counter, 0.1, 0.3), DoubtKind.AUTOVACUUM_IN_ONE_ARM) is None
    assert doubt(with_counter(counter, 0.0, 0.0), DoubtKind.AUTOVACUUM_IN_ONE_ARM) is None


def test_arms_that_are_about_autovacuum_are_not_doubted_for_it() -> None:
    trials = with_counter(Counter.VACUUMS_PER_S, 0.0, 0.1)
    about = replace(CLAIM, mechanisms=(Mechanism(counter="vacuums_per_s", ratio_min=1.5, about="vacuums"),))
    assert doubt(trials, DoubtKind.AUTOVACUUM_IN_ONE_ARM, about) is None
    tuned = [replace(one, spec=replace(one.spec, settings={"autovacuum_naptime": "1s"})) for one in trials]
    assert doubt(tuned, DoubtKind.AUTOVACUUM_IN_ONE_ARM) is None


def with_others(control_share: float, arm_share: float, pressure: float = 0.5) -> list[TrialRecord]:
    shares = {"free": control_share, "held": arm_share}
    return [
        replace(one, cpu=replace(one.cpu, others_s=shares[one.spec.arm] * 16.0, pressure_share=pressure))  # type: ignore[type-var]
        for one in blocks_of(STUDY, [0.6] * 5, seconds=8)
    ]


@pytest.mark.parametrize(("apart", "doubted"), [(0.09, False), (0.11, True), (-0.11, True)])
def test_cpu_that_others_took_from_one_arm_is_a_doubt(apart: float, *, doubted: bool) -> None:
    seen = doubt(with_others(0.20, 0.20 + apart), DoubtKind.UNEQUAL_CPU)
    assert (seen is not None) is doubted
    if seen is not None:
        assert doubt_words(seen).text.startswith(
            f"other processes took {100 * (0.2 + apart):.0f} % of the CPU while held ran and 20 %"
        )
    assert doubt(with_others(0.20, 0.60, pressure=0.1), DoubtKind.UNEQUAL_CPU) is None, "nobody waited for it"


INDEX_SCAN = "Index Scan using counters_pkey on counters  (cost=0.29..8.31 rows=1 width=12)"
SEQ_SCAN = "Seq Scan on counters  (cost=0.00..179.00 rows=1 width=12)\n  Filter: (id = 1)"


def with_probes(plans: dict[str, Sequence[str]]) -> list[TrialRecord]:
    """The plan of the probe by arm, block by block."""
    return [
        replace(one, probe=Probe(pages=3, plan=plans[one.spec.arm][one.spec.block - 1]))
        for one in blocks_of(STUDY, [0.6] * 5)
    ]


def test_a_plan_that_changes_between_blocks_is_a_doubt() -> None:
    cheaper = INDEX_SCAN.replace("8.31", "9.87")
    same = with_probes({"free": [INDEX_SCAN, cheaper] * 3, "held": [cheaper] * 5})
    assert doubt(same, DoubtKind.PLANS_DIFFER) is None, "costs are no other plan"
    seen = doubt(with_probes({"free": [INDEX_SCAN] * 5, "held": [INDEX_SCAN] * 4 + [SEQ_SCAN]}), DoubtKind.PLANS_DIFFER)
    assert seen is not None
    assert doubt_words(seen).text == (
        "the probe had two plans in held: Index Scan using counters_pkey on counters in 4 trials, "
        "Seq Scan on counters in 1"
    )


@pytest.mark.parametrize(
    ("other_pages", "doubted"),
    # The arms differ by 3 to 300 pages in most blocks: half of that, as logarithms, is from 3 to some 25.
    [(1, False), (20, False), (30, True)],
)
def test_a_plan_that_flips_matters_by_the_share_of_the_pages_that_the_arms_differ_by(
    other_pages: int, *, doubted: bool
) -> None:
    """A table of 100 rows has an index scan now and a sequential one then: of 3 pages, where the held arm has 300."""
    trials = []
    for probe in with_probes({"free": [INDEX_SCAN] * 4 + [SEQ_SCAN], "held": [INDEX_SCAN] * 5}):
        flipped = probe.spec.arm == "free" and probe.spec.block == 5
        pages = 300 if probe.spec.arm == "held" else other_pages if flipped else 3
        trials.append(replace(probe, probe=replace(probe.probe, pages=pages)))  # type: ignore[type-var]
    assert (doubt(trials, DoubtKind.PLANS_DIFFER) is not None) is doubted


def test_a_plan_that_flips_without_known_pages_is_a_doubt() -> None:
    """A probe that takes too long is planned only."""
    trials = [
        replace(probe, probe=replace(probe.probe, pages=None))  # type: ignore[type-var]
        for probe in with_probes({"free": [INDEX_SCAN] * 4 + [SEQ_SCAN], "held": [INDEX_SCAN] * 5})
    ]
    assert doubt(trials, DoubtKind.PLANS_DIFFER) is not None


def test_a_plan_that_differs_between_the_arms_is_a_doubt_unless_the_claim_is_about_it() -> None:
    trials = with_probes({"free": [INDEX_SCAN] * 5, "held": [SEQ_SCAN] * 5})
    seen = doubt(trials, DoubtKind.PLANS_DIFFER)
    assert seen is not None
    assert doubt_words(seen).text.startswith("the probe had another plan in held (Seq Scan on counters) than in free")
    about = replace(CLAIM, mechanisms=(Mechanism(counter="probe_pages", ratio_min=1.1, about="pages"),))
    assert doubt(trials, DoubtKind.PLANS_DIFFER, about) is None
    other_data = [
        replace(one, spec=replace(one.spec, dataset=SqlDataset(statements="another")))
        if one.spec.arm == "held"
        else one
        for one in trials
    ]
    assert doubt(other_data, DoubtKind.PLANS_DIFFER) is None


def logged(text: str, plan: str) -> TrialEvent:
    return TrialEvent(
        at_s=1.0,
        event=PlanLogged(
            origin=LogOrigin(), duration_us=10, plan_format="text", query_id=None, query_text=text, plan=plan
        ),
    )


def test_logged_plans_of_the_same_statement_are_compared() -> None:
    trials = [
        replace(
            one,
            events=TrialEvents(
                kept=(
                    logged(f"select v from counters where id = {one.spec.number}", INDEX_SCAN),
                    logged("select count(*) from counters", SEQ_SCAN if one.spec.arm == "held" else INDEX_SCAN),
                )
            ),
        )
        for one in blocks_of(STUDY, [0.6] * 5)
    ]
    seen = doubt(trials, DoubtKind.PLANS_DIFFER)
    assert seen is not None
    assert doubt_words(seen).text.startswith('"select count ( * ) from counters" had another plan in held')


def rising(change: float, *, trials: int = 5, seconds: int = 10) -> tuple[TrialRecord, ...]:
    """The free arm's second half is this much above its first, in each of its trials; the held arm is steady."""
    made = []
    for block in range(1, trials + 1):
        level = 10_000 * (1 + 0.004 * (block % 3))
        half = seconds // 2
        made.append(trial(STUDY, 2 * block - 1, block, "free", [level] * half + [level * (1 + change)] * half))
        made.append(replace(trial(STUDY, 2 * block, block, "held", [6000.0] * seconds), probe=None))
    return tuple(made)


@pytest.mark.parametrize(
    ("change", "doubted"), [(0.04, False), (0.06, True), (0.3, True), (-0.04, False), (-0.06, True)]
)
def test_short_trials_that_all_rise_or_fall_have_no_steady_state(change: float, *, doubted: bool) -> None:
    """In trials of 10 s, as quick profiles have."""
    seen = doubt(rising(change), DoubtKind.NO_STEADY_STATE)
    assert (seen is not None) is doubted
    if seen is not None:
        word = "rose" if change > 0 else "fell"
        assert doubt_words(seen).text == f"TPS {word} by {abs(change):.0%} from".replace("%", " %") + (
            " the first to the second half of free's 5 trials"
        )
    assert doubt(rising(change, trials=2), DoubtKind.NO_STEADY_STATE) is None, "two trials show no spread"


def test_trials_that_rise_and_fall_by_turns_are_noisy_and_not_unsteady() -> None:
    trials = [
        replace(one, load=other.load) if one.spec.block % 2 else one
        for one, other in zip(rising(0.15), rising(-0.15), strict=True)
    ]
    assert doubt(trials, DoubtKind.NO_STEADY_STATE) is None


@pytest.mark.parametrize(
    ("spread", "doubted"),
    # Half of the blocks up and half down: a standard deviation of 1.095 times the logarithm.
    [(0.08, False), (0.11, True)],
)
def test_an_arm_that_varies_alone_is_a_doubt(spread: float, *, doubted: bool) -> None:
    ratios = [0.6 * math.exp(spread if block % 4 < 2 else -spread) for block in range(6)]
    assert (doubt(blocks_of(STUDY, ratios), DoubtKind.UNEVEN_BLOCKS) is not None) is doubted


def test_noise_that_both_arms_share_is_none() -> None:
    trials = []
    for block in range(1, 7):
        level = 10_000 * (1.3 if block % 2 else 1.0)
        trials += [trial(STUDY, 2 * block - 1, block, "free", [level] * 8)]
        trials += [trial(STUDY, 2 * block, block, "held", [0.6 * level] * 8)]
    assert doubt(trials, DoubtKind.UNEVEN_BLOCKS) is None


@pytest.mark.parametrize(("counts", "doubted"), [((2, 4, 6, 4), False), ((1, 4, 9, 2), True)])
def test_counts_beyond_chance_are_a_doubt(counts: Sequence[int], *, doubted: bool) -> None:
    trials = []
    for block, held in enumerate(counts, start=1):
        trials += [trial(STUDY, 2 * block - 1, block, "free", [500.0] * 10)]
        trials += [trial(STUDY, 2 * block, block, "held", [held] + [0] * 9)]
    assert (doubt(trials, DoubtKind.UNEVEN_BLOCKS) is not None) is doubted


def with_slow_trials(share_of_speed: float, slow: Sequence[int], *, both: bool = False) -> list[TrialRecord]:
    trials = []
    for block in range(1, 11):
        wobble = 1.0 + 0.03 * (block % 3 - 1)
        slower = share_of_speed if block in slow else 1.0
        free, held = 10_000 * wobble * (slower if both else 1.0), 6_000 * wobble * slower
        trials += [trial(STUDY, 2 * block - 1, block, "free", [free] * 8)]
        trials += [trial(STUDY, 2 * block, block, "held", [held] * 8)]
    return trials


@pytest.mark.parametrize(
    ("speed", "slow", "doubted"),
    [(0.5, (4,), True), (0.7, (4, 7), True), (0.8, (4,), False), (0.5, (), False), (0.5, (1, 2, 3, 4), False)],
)
def test_an_arm_that_has_two_speeds_is_a_doubt(speed: float, slow: Sequence[int], *, doubted: bool) -> None:
    seen = doubt(with_slow_trials(speed, slow), DoubtKind.UNEVEN_BLOCKS)
    found = seen is not None and isinstance(seen.facts, SpeedsApart)
    assert found is doubted
    if seen is not None and found:
        text = doubt_words(seen).text
        # The usual speed is the median, which wobbles by 3 %.
        assert seen.facts.slow_share == pytest.approx(speed, abs=0.03)
        assert text.startswith(f"held ran at {seen.facts.slow_share:.0%}".replace("%", " %"))
        assert f"in {len(slow)} of 10 trials (the first is trial {2 * slow[0]})" in text


def test_a_machine_that_slows_both_arms_gives_no_arm_two_speeds() -> None:
    assert doubt(with_slow_trials(0.5, (4,), both=True), DoubtKind.UNEVEN_BLOCKS) is None


def test_a_stall_leaves_the_ratio_of_the_other_blocks_and_how_often_it_was() -> None:
    trials = list(blocks_of(STUDY, [0.6, 0.61, 0.59, 0.6, 0.62, 0.58], seconds=10))
    trials[11] = replace(trials[11], load=trial(STUDY, 12, 6, "held", [0] * 10).load)
    seen = doubt(trials, DoubtKind.STALLED_TRIAL)
    assert seen is not None
    assert isinstance(seen.facts, TrialsStalled)
    assert [(arm.arm, arm.stalled, arm.trials) for arm in seen.facts.arms] == [("free", 0, 6), ("held", 1, 6)]
    # Clopper and Pearson, of 1 in 6.
    assert (seen.facts.arms[1].low, seen.facts.arms[1].high) == pytest.approx((0.00421, 0.64123), abs=1e-5)
    running = seen.facts.running
    assert running is not None
    assert running.blocks == 5
    assert running.ratio == pytest.approx(0.6, abs=0.005)
    assert running.low is not None
    assert 0.5 < running.low < 0.6
    text = doubt_words(seen).text
    assert "held stalled in 1 of 6 trials (95 % CI 0.4 to 64.1 %)" in text
    assert "without a stall the ratio is 0.6" in text
    interval = judge(STUDY, tuple(trials)).headline.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.low < 0.1, "the claim itself still counts the stall"
