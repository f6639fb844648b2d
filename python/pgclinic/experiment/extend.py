"""More blocks for a run that ended without an answer: how many, until when, and what that does to the judgement. Pure.

The interval of an open run holds after any number of blocks and for any reason to stop, so it only goes on. A number of
blocks that was fixed beforehand is fixed no more once it is raised by somebody who has seen the result: from then on
the profile is an open one, and the run is judged by the confidence sequence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.study import Profile
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.study.duration import BLOCKS_MAX, NO_BUDGET_S, block_s


def extended(plan: ExperimentPlan, info: RunInfo) -> ExperimentPlan:
    """The plan with the blocks to which its run was extended, and with the run's budget.

    The interval stays the one for the blocks that were planned when nothing was known.
    """
    profile = plan.profile
    if info.blocks_max is not None and info.blocks_max != profile.blocks_max:
        plan = replace(plan, blocks_planned=plan.blocks_planned or profile.blocks_max)
    return plan.with_profile(replace(profile, budget_s=info.budget_s, blocks_max=info.blocks_max or profile.blocks_max))


def with_blocks(info: RunInfo, profile: Profile, done: Sequence[TrialRecord], blocks: int) -> RunInfo:
    """The run with ``blocks`` blocks in all, in place of its number and its budget. Raises UsageError."""
    finished = max((trial.spec.block for trial in done), default=0)
    if blocks < max(finished, profile.blocks_min):
        reason = f"{finished} have run" if blocks < finished else f"its plan needs {profile.blocks_min}"
        raise UsageError(f"--blocks {blocks} is the number of all blocks of the run, and {reason}")
    if blocks > max(BLOCKS_MAX, profile.blocks_max):
        raise UsageError(f"--blocks {blocks} is too many", hint=f"at most {BLOCKS_MAX}")
    return _no_longer_fixed(replace(info, blocks_max=blocks, budget_s=NO_BUDGET_S), profile)


def with_budget(info: RunInfo, profile: Profile, done: Sequence[TrialRecord], budget_s: float) -> RunInfo:
    """The run with a budget of ``budget_s`` for all its trials, which must hold one block more. Raises UsageError."""
    spent_s, each_s = spent(done), block_s(profile)
    if budget_s < spent_s + each_s:
        raise UsageError(
            f"the trials of that run have taken {spent_s:.0f} s; --budget {budget_s:.0f} s holds no further block of "
            f"{each_s:.0f} s",
            hint=f"--budget +{math.ceil(each_s)}s is the least",
        )
    if info.kind != RunKind.COMPARE and len(done) >= profile.blocks_max * len(profile.measure_s):
        raise UsageError(
            f"all {profile.blocks_max} blocks of the plan have run, so that time adds none",
            hint=f"--blocks {profile.blocks_max + 1}, or more",
        )
    extended = replace(info, budget_s=budget_s)
    return _room_for_blocks(extended, profile) if info.kind == RunKind.COMPARE else extended


def _room_for_blocks(info: RunInfo, profile: Profile) -> RunInfo:
    """The run of a comparison, whose greatest number of blocks follows from its budget."""
    load_s = sum(profile.warm_up_s + measure_s for measure_s in profile.measure_s.values())
    within = min(BLOCKS_MAX, math.ceil(info.budget_s / load_s))
    blocks = max(within, profile.blocks_max + (profile.blocks_fixed is not None))
    return _no_longer_fixed(replace(info, blocks_max=blocks), profile)


def _no_longer_fixed(info: RunInfo, profile: Profile) -> RunInfo:
    """Keep the number of blocks that was fixed beforehand where it is raised."""
    raised = profile.blocks_fixed is not None and info.blocks_max != profile.blocks_max
    return replace(info, blocks_fixed=profile.blocks_max) if raised else info


def spent(done: Sequence[TrialRecord]) -> float:
    """What the trials have taken, in seconds."""
    return sum(trial.elapsed_s for trial in done)


def needed_by(verdict: Verdict) -> tuple[int | None, ...]:
    """How many more blocks each claim needs that is still open."""
    return tuple(claim.blocks_needed for claim in verdict.claims if claim.word is VerdictWord.INCONCLUSIVE)


def blocks_that_decide(needed: Sequence[int | None], trials: Sequence[TrialRecord]) -> int | None:
    """How many blocks in all would decide what is open, as far as can be said now; None where none would."""
    known = [each for each in needed if each is not None]
    if not known or len(known) < len(needed):
        return None
    total = max((trial.spec.block for trial in trials), default=0) + max(known)
    return total if total <= BLOCKS_MAX else None
