"""A pathology proven by the study that makes it in the lab: sick against cured, with the live version and settings."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.prove.live_settings import fitting, live_settings
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest, trials_in
from pgclinic.errors import UsageError
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.resolve import resolve
from pgclinic.experiment.road import run, start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ServerAsked, choose_server
from pgclinic.judge.comparison import word_for
from pgclinic.judge.evidence import TPS
from pgclinic.judge.evidence_beyond import log_evidence_of
from pgclinic.judge.regions import direction_of
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.finding import Fact, Proof
from pgclinic.model.run import RunKind
from pgclinic.model.study import Claim, Mechanism, Profile, Question, Study
from pgclinic.model.verdict import Interval, Verdict
from pgclinic.model.verdict_word import CompareWord
from pgclinic.settings.portable import portable_settings
from pgclinic.store.machine import read_machine
from pgclinic.study.duration import BLOCKS_MAX, NO_BUDGET_S
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.read import read_study
from pgclinic.trial.server import binaries_of
from pgclinic.whatif.trials_in_time import BLOCKS_MIN, Trials

PROFILE = "quick"
#: A counter that differs by this much has moved.
MOVED = 1.1
_FLIPPED = {CompareWord.FASTER: CompareWord.SLOWER, CompareWord.SLOWER: CompareWord.FASTER}
#: Of a measure that is no rate.
_OTHER_WORDS = {CompareWord.FASTER: "higher", CompareWord.SLOWER: "lower"}


def proof_by_study(
    case: Case, pathology: Pathology, share_s: float, request: ProofRequest, listener: ProofListener
) -> Proof:
    """The arms of one claim of its study. Raises UsageError, RunFailedError; what has finished is stored."""
    study_name = pathology.study or ""
    study, _ = read_study(study_name)
    claim = _claim(study, pathology.claims, case.major)
    trials = trials_in(share_s, request, arms=len({claim.arm, claim.control, *claim.levels}))
    on = f"study {study_name}, PostgreSQL {case.major}"
    if trials is None:
        return Proof(treatment=0, word=None, on=on, reason="the budget has no time left for it")
    asked = _asked(study, claim, trials, share_s, request.warm_up_s)
    machine = read_machine()
    server = choose_server(ServerAsked(version=str(case.major)), on_stage=listener.on_stage)
    # A snapshot may be a stranger's file, which says of a library or a command that it is a switch.
    portable = portable_settings(settings_catalog(binaries_of(server.spec)), live_settings(case))
    settings, _ = fitting(portable.settings, case, machine.memory_bytes)
    plan = resolve(
        _on_top_of(asked, settings),
        PROFILE,
        seed=request.seed,
        server=server.spec,
        major=server.major,
        memory_bytes=machine.memory_bytes,
    )
    if not plan.study.questions:
        raise UsageError(f"PostgreSQL {case.major} on this machine can run no claim of {study_name}")
    interleaved = plan.profile.interleaved and why_sequential(plan, machine.memory_bytes) is None
    plan = plan.with_profile(replace(plan.profile, interleaved=interleaved))
    listener.on_stage(f"proving {pathology.name}: the study {study_name}")
    prepare(plan, {}, listener.on_stage)
    info = new_run_info(
        RunKind.COMPARE, plan, machine, command=request.command, server=server.words, wanted=server.spec
    )
    experiment = start(plan, info, request.folder, request.fleet)
    verdict = run(experiment, listener.experiment)
    return proof_of(claim, verdict, on=on, run=str(experiment.folder.path))


def _claim(study: Study, names: Sequence[str], major: int) -> Claim:
    """The first of these claims, or of all, whose arms run on the live version. Raises UsageError if none does."""
    asked = [claim for claim in study.claims if not names or claim.name in names]
    for one in asked if names else asked[:1]:
        servers = [inherited_arm(study, None, arm).server for arm in (one.arm, one.control, *one.levels)]
        if all(server is None or (server.version or "").partition(".")[0] == str(major) for server in servers):
            return one
    raise UsageError(f"the study {study.name} has no claim about PostgreSQL {major}")


def _asked(study: Study, claim: Claim, trials: Trials, share_s: float, warm_up_s: float) -> Study:
    """The claim as an open question, in trials that the time allows: what is published of it is of another length."""
    profile = study.profiles[PROFILE]
    arms = tuple(dict.fromkeys((claim.control, *claim.levels, claim.arm)))
    lengths = {name: min(trials.measure_s, profile.measure_s.get(name, trials.measure_s)) for name in arms}
    shortest = min(lengths.values())
    is_whole = all(lengths[name] >= profile.measure_s.get(name, 0.0) for name in arms)
    question = Question(
        name=claim.name,
        text=claim.text,
        arm=claim.arm,
        control=claim.control,
        measure=claim.measure,
        levels=claim.levels,
        tail_s=min(claim.tail_s, shortest / 2) if claim.tail_s is not None else None,
        mechanisms=claim.mechanisms if is_whole else tuple(_in_direction(mechanism) for mechanism in claim.mechanisms),
    )
    changed: Profile = replace(
        profile,
        measure_s=lengths,
        warm_up_s=min(profile.warm_up_s, warm_up_s),
        blocks_min=trials.blocks or BLOCKS_MIN,
        blocks_max=trials.blocks or BLOCKS_MAX,
        budget_s=share_s if trials.blocks is None else NO_BUDGET_S,
        claims=(),
        calibration_s=0.0,
    )
    return replace(study, claims=(), question=question, profiles={PROFILE: changed})


def _in_direction(one: Mechanism) -> Mechanism:
    """Shorter trials move a counter less far than the claim says, and the same way."""
    return replace(one, ratio_min=min(one.ratio_min, MOVED) if one.ratio_min > 1.0 else max(one.ratio_min, 1.0 / MOVED))


def _on_top_of(study: Study, settings: dict[str, str]) -> Study:
    """The study's own settings over those of the live server."""
    arms = {
        name: replace(arm, settings=settings | arm.settings) if arm.builds_on is None else arm
        for name, arm in study.arms.items()
    }
    return replace(study, arms=arms)


def proof_of(claim: Claim, verdict: Verdict, *, on: str, run: str) -> Proof:
    """The claim is of the sick arm against the cured one, but where the arm is claimed to be faster."""
    seen = verdict.headline
    cured_is_arm = claim.measure == TPS and direction_of(claim) > 0
    word = word_for(seen)
    mechanism = tuple(
        Fact(name=f"{one.about}, {'sick' if side == 'arm' else 'cured'}", value=value)
        for one in seen.mechanisms
        for side, value in (("arm", one.arm), ("control", one.control))
        if value is not None
    )
    if word is CompareWord.INVALID or seen.interval is None:
        reason = seen.invalid_because.value.replace("_", " ") if seen.invalid_because is not None else "no block"
        return Proof(treatment=0, word=None, on=on, run=run, reason=reason, mechanism=mechanism, doubts=verdict.doubts)
    interval = seen.interval if cured_is_arm else _inverse(seen.interval)
    shown = word if cured_is_arm else _FLIPPED.get(word, word)
    return Proof(
        treatment=0,
        word=shown.value if claim.measure == TPS else _OTHER_WORDS.get(shown, shown.value),
        ratio=interval.ratio,
        low=interval.low,
        high=interval.high,
        measure=claim.measure,
        on=on,
        run=run,
        mechanism=mechanism,
        doubts=verdict.doubts,
        log_e_value=log_evidence_of(seen),
    )


def _inverse(interval: Interval) -> Interval:
    return replace(
        interval,
        ratio=1.0 / interval.ratio,
        low=1.0 / interval.high if interval.high else None,
        high=1.0 / interval.low if interval.low else None,
    )
