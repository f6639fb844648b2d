"""Every study that is shipped can be run: its times, and each of its arms for a second on a real server."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import plan_of
from pgclinic.experiment.fit import fitted
from pgclinic.experiment.plan import planned_trials
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.servers import ServerAsked, choose_server
from pgclinic.model.study import Claim, Condition, Counter, Profile, Study
from pgclinic.model.trial import ServerSpec, TrialOutcome, TrialSpec
from pgclinic.study.duration import expected_s
from pgclinic.study.in_profile import in_profile
from pgclinic.study.read import read_study, shipped_studies
from pgclinic.trial.run import TrialListener, run_trial

#: What all quick profiles may take together, in seconds.
QUICK_TOGETHER_S = 65 * 60
#: TPC-C is filled and run by tests of its own.
SMALL = [name for name in shipped_studies() if read_study(name)[0].workload.tpcc is None]
#: Moments of a condition come this many times earlier than in the study.
HASTE = 8.0
CLIENTS_MAX = 20
#: Seconds of load that a counter needs: samples inside it, an autovacuum.
SECONDS_FOR: dict[str, float] = {
    Counter.LOCK_WAIT_SHARE: 3.0,
    Counter.HORIZON_AGE_XIDS: 3.0,
    Counter.BACKENDS_ON_ONE_QUERY_ID: 3.0,
    Counter.DEAD_ROWS_KEPT_SHARE: 6.0,
}


#: Where a client has something to say only when it has queried 1,600 tables, however busy the machine is.
LONG_S = {"memory-contexts": 6.0}


def quick(name: str) -> tuple[Study, Profile]:
    study, _ = read_study(name)
    profile = study.profiles["quick"]
    return in_profile(study, profile), profile


@pytest.mark.parametrize("name", shipped_studies())
def test_every_profile_fits_into_its_budget(name: str) -> None:
    study, _ = read_study(name)
    for profile in study.profiles.values():
        assert expected_s(profile) <= profile.budget_s


def test_all_quick_profiles_together_take_little_more_than_an_hour() -> None:
    assert sum(expected_s(quick(name)[1]) for name in shipped_studies()) <= QUICK_TOGETHER_S


@pytest.mark.parametrize("name", shipped_studies())
def test_the_full_profile_judges_every_claim(name: str) -> None:
    study, _ = read_study(name)
    assert in_profile(study, study.profiles["full"]).claims == study.claims


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("name", SMALL)
def test_every_arm_runs_and_has_what_its_claims_need(name: str) -> None:
    study, profile = quick(name)
    study = hurried(fitted(study, 18, profile, memory_bytes=2**36).study)
    measure_s = {
        arm: max([LONG_S.get(name, 1.0), *(SECONDS_FOR.get(one, 1.0) for one in needed_by(study, arm))])
        for arm in study.arms
    }
    profile = replace(profile, warm_up_s=0.2, measure_s=measure_s, settings={})
    server = choose_server(ServerAsked(version="18"))
    plan = plan_of(study, profile, server=server.spec)
    prepare(plan, {}, lambda _: None)
    for spec in planned_trials(plan, 1):
        record = run_trial(small(spec, server.spec), TrialListener())
        assert record.outcome is TrialOutcome.DONE, f"{spec.arm}: {record.failure}"
        assert record.load is not None
        assert record.load.transactions, spec.arm
        assert not record.load.failed, f"{spec.arm}: {record.load.failures}"
        assert needed_by(study, spec.arm) <= record.counters.keys(), spec.arm


def hurried(study: Study) -> Study:
    """The same study on one version, with what happens at a moment happening soon."""
    arms = {
        name: replace(arm, version=None, condition=None if arm.condition is None else soon(arm.condition))
        for name, arm in study.arms.items()
    }
    return replace(study, arms=arms)


def soon(condition: Condition) -> Condition:
    steps = tuple(
        replace(step, at_s=step.at_s / HASTE, every_s=step.every_s / HASTE if step.every_s else None)
        for step in condition.steps
    )
    return replace(
        condition,
        release_at_s=condition.release_at_s / HASTE if condition.release_at_s else None,
        steps=steps,
        idle_sessions=min(condition.idle_sessions, CLIENTS_MAX),
    )


def small(spec: TrialSpec, server: ServerSpec) -> TrialSpec:
    load = replace(spec.load, clients=min(spec.load.clients, CLIENTS_MAX))
    return replace(spec, server=server, load=load)


def needed_by(study: Study, arm: str) -> set[str]:
    return {counter for claim in study.claims for counter in counters_of(claim, arm)}


def counters_of(claim: Claim, arm: str) -> set[str]:
    if arm not in {claim.arm, claim.control, *claim.levels}:
        return set()
    # Whether a law fits is what the experiment is to find out; on a busy machine it may not.
    measure = {claim.measure} - {"tps", "decline", Counter.TPS_KEPT_AFTER_AN_HOUR}
    return measure | {mechanism.counter for mechanism in claim.mechanisms}
