"""A ladder: arms that each add to the one before, described by the slowdown of every step, published and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.study import Counter, Question, Study
from pgclinic.model.verdict import ArmSeen, MechanismSeen, Verdict
from pgclinic.report.words.figures import counter_words, number
from pgclinic.report.words.quantities import factor, slower
from pgclinic.report.words.verdicts import claim_of

#: A source's own words for a figure stand in its place up to this length; longer ones stand below the table.
_SAID_MAX = 12

#: What a claim's counter is called where there is no room for the study file's words.
_SHORT: dict[str, str] = {
    Counter.BUFFER_HITS_PER_TRANSACTION: "hits/commit",
    Counter.PROBE_PAGES: "probe pages",
    Counter.PROBE_SEQUENTIAL_SCANS: "probe seq. scans",
    Counter.HIT_RATIO: "hit ratio",
    Counter.READ_CALLS_PER_TRANSACTION: "reads/commit",
    Counter.VACUUMS_PER_S: "vacuums/s",
    Counter.ANALYZES_PER_S: "analyzes/s",
    Counter.CHECKPOINT_INTERVAL_S: "checkpoint every",
    Counter.WAL_BYTES_PER_TRANSACTION: "WAL/commit",
    Counter.SEQUENTIAL_SCAN_SHARE: "seq. scans",
    Counter.SERVER_CPU_SHARE: "server CPU",
    Counter.STATEMENTS_PER_S: "statements/s",
    Counter.SERVER_CPU_US_PER_TRANSACTION: "CPU/commit",
    Counter.BACKEND_MEMORY_BYTES: "memory/backend",
}


@dataclass(frozen=True)
class Fall:
    """From the step before to this one, as a ratio of TPS. ``bound``: without a commit here it is at most that."""

    ratio: float
    bound: bool = False

    @property
    def text(self) -> str:
        """6.7x slower, 1.1x faster, over 42x slower."""
        return f"over {factor(1 / self.ratio)}x slower" if self.bound and self.ratio < 1 else slower(self.ratio)

    @property
    def short(self) -> str:
        """The same for a column whose head says "slower": 6.7x, 0.91x, >42x."""
        if self.ratio > 1:
            return f"{1 / self.ratio:.2f}x"
        return f"{'>' if self.bound else ''}{factor(1 / self.ratio)}x"


@dataclass(frozen=True)
class LadderStep:
    """One arm with both falls to it; a fall is None where one of its two figures is missing."""

    seen: ArmSeen
    published: Fall | None
    measured: Fall | None
    cause: str

    @property
    def published_text(self) -> str:
        """The published figure as the source says it: 7,082, under 500."""
        seen = self.seen
        said = seen.published_text
        if said is not None and len(said) <= _SAID_MAX:
            return said
        return "-" if seen.published_tps is None else published_figure(seen.published_tps)

    @property
    def published_note(self) -> str | None:
        """What the source says where that is too long to stand for a figure, or where it gives none."""
        said = self.seen.published_text
        return said if said is not None and said != self.published_text else None

    @property
    def measured_text(self) -> str:
        seen = self.seen
        if seen.refusal is not None:
            return "refused"
        if seen.trials == 0:
            return "-"
        if seen.commits == 0 and seen.tps_high is not None:
            return f"at most {number(seen.tps_high)}"
        return number(seen.tps)

    @property
    def limits_text(self) -> str:
        """The 95 % limits of the measured figure: 350 to 420; empty where there are none."""
        seen = self.seen
        if seen.tps_low is None or seen.tps_high is None or seen.commits == 0:
            return ""
        return f"{number(seen.tps_low)} to {number(seen.tps_high)}"


def published_figure(tps: float) -> str:
    """A figure in the digits that the source gave it: 7,082, 98, 0.016."""
    return f"{tps:,.6g}" if tps >= 1e-4 else number(tps)


def is_ladder(verdict: Verdict) -> bool:
    """Whether the source gives a figure for at least two of the arms, so that there is a step to compare."""
    return sum(arm.published_tps is not None for arm in verdict.arms) >= 2


def ladder_steps(study: Study, verdict: Verdict) -> tuple[LadderStep, ...]:
    """The arms in the study file's order, each against the one before."""
    ladder = []
    before: ArmSeen | None = None
    for seen in verdict.arms:
        ladder.append(
            LadderStep(
                seen=seen,
                published=_published_fall(before, seen),
                measured=_measured_fall(before, seen),
                cause=_cause(study, verdict, before, seen),
            )
        )
        before = seen
    return tuple(ladder)


def _published_fall(before: ArmSeen | None, seen: ArmSeen) -> Fall | None:
    if before is None or not before.published_tps or not seen.published_tps:
        return None
    return Fall(seen.published_tps / before.published_tps)


def _measured_fall(before: ArmSeen | None, seen: ArmSeen) -> Fall | None:
    if before is None or before.tps <= 0 or seen.trials == 0:
        return None
    if seen.tps > 0:
        return Fall(seen.tps / before.tps)
    return Fall(seen.tps_high / before.tps, bound=True) if seen.tps_high else None


def _cause(study: Study, verdict: Verdict, before: ArmSeen | None, seen: ArmSeen) -> str:
    """What moved, as the claim about this step says, be it against an earlier one: hit ratio 98.6 % -> 82.9 %."""
    own = [(claim_of(study, one), one) for one in verdict.claims]
    own = [(claim, one) for claim, one in own if claim.arm == seen.arm and one.mechanisms]
    if before is None or not own:
        return ""
    claim, chosen = min(own, key=lambda pair: (pair[0].control != before.arm, pair[1] is verdict.headline))
    if chosen is verdict.headline and claim.control != before.arm:
        return ""
    return _against(claim, before) + "; ".join(_movement(moved) for moved in chosen.mechanisms)


def _against(claim: Question, before: ArmSeen) -> str:
    return "" if claim.control == before.arm else f"from {claim.control}: "


def _movement(seen: MechanismSeen) -> str:
    control, arm = (
        "unknown" if value is None else counter_words(seen.counter, value) for value in (seen.control, seen.arm)
    )
    name = _SHORT.get(seen.counter, seen.counter.replace("_", " "))
    return f"{name} {control} -> {arm}" + ("" if seen.moved else " (did not change)")


def counters_seen(arms: Sequence[ArmSeen]) -> tuple[str, ...]:
    """Counters that at least one arm has, in the model's order, then the study's custom metrics."""
    seen = {counter for arm in arms for counter in arm.counters}
    known = [counter.value for counter in Counter]
    return (*(name for name in known if name in seen), *sorted(seen.difference(known)))
