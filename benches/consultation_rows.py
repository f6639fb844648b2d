"""What a consultation made of each planted cause, and how all of them together meet their goals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from claimed_gains import Gain, gains_goal, gains_table
from consulted import Consultation
from pgclinic.model.event import ProofReached
from pgclinic.model.finding import Finding, Proof
from pgclinic.model.plan_proof import PlanWord
from sick_applications import Planted
from statement_shares import Calls, lost_share_of, share_of

#: A claimed share is the whole one if it is within this factor of the true one.
WHOLE = 1.25
#: The words of blocks by which a treatment cures: in throughput or time, or in what is less than it was.
CURED = frozenset(("faster", "lower"))
#: A cure is shown by plans within so many seconds; on a machine with so much load within more.
PLANS_S, PLANS_BUSY_S, BUSY_LOAD = 60.0, 120.0, 8.0
OVERRUN_S = 10.0


class PlantedSeen(msgspec.Struct, frozen=True):
    """``finding`` is the key of the one that names the cause, None if none does. Shares are of the time of all
    statements, 0 to 1: ``true_share`` of those that it slows down, ``lost_share`` what of that they lose by it.

    ``plans_after_s`` is when plans had shown a cure, from the start of the command, ``blocks_after_s`` when blocks had
    said ``blocks`` with a ratio in ``measure``; each is None where that did not happen.
    """

    pathology: str
    object: str
    on_twin: bool
    true_share: float
    lost_share: float
    finding: str | None = None
    claimed_share: float | None = None
    plans_after_s: float | None = None
    blocks_after_s: float | None = None
    blocks: str | None = None
    ratio: float | None = None
    measure: str | None = None
    reason: str | None = None

    @property
    def is_cured_by_blocks(self) -> bool:
        return self.blocks in CURED

    @property
    def has_whole_share(self) -> bool:
        """A finding may claim the time of the statements, or what they lose."""
        claimed = self.claimed_share
        if claimed is None:
            return False
        return any(share > 0 and 1 / WHOLE <= claimed / share <= WHOLE for share in (self.true_share, self.lost_share))


class Row(msgspec.Struct, frozen=True):
    """One variant. ``findings`` are the keys of all that was found, with their severity."""

    variant: str
    took_s: float = 0.0
    budget_s: float = 0.0
    load_before: float = 0.0
    load_after: float = 0.0
    planted: tuple[PlantedSeen, ...] = ()
    gains: tuple[Gain, ...] = ()
    findings: tuple[str, ...] = ()
    failure: str | None = None

    @property
    def overrun_s(self) -> float:
        return max(0.0, self.took_s - self.budget_s)

    @property
    def plans_limit_s(self) -> float:
        return PLANS_BUSY_S if max(self.load_before, self.load_after) >= BUSY_LOAD else PLANS_S


def key_of(row: Row) -> str:
    return row.variant


def seen_of(
    planted: Planted, consultation: Consultation, sick: Mapping[str, Calls], healthy: Mapping[str, Calls]
) -> PlantedSeen:
    """What the consultation made of one cause; ``sick`` and ``healthy`` are what the servers counted by text."""
    finding = next((one for one in consultation.checkup.findings if names(one, planted)), None)
    unseen = PlantedSeen(
        pathology=planted.pathology,
        object=planted.object,
        on_twin=planted.on_twin,
        true_share=share_of(sick, planted.slowed),
        lost_share=lost_share_of(sick, healthy, planted.slowed),
    )
    if finding is None:
        return unseen
    events = [one for one in consultation.proofs if one.finding == finding.key]
    cured = next((event for event in events if _is_cured(event)), None)
    decided = next((event for event in events if event.proof.run is not None), None)
    proof = decided.proof if decided is not None else None
    return msgspec.structs.replace(
        unseen,
        finding=finding.key,
        claimed_share=finding.time_share,
        plans_after_s=consultation.after_s(cured) if cured is not None else None,
        blocks_after_s=consultation.after_s(decided) if decided is not None else None,
        blocks=_word_of_blocks(proof) if proof is not None else None,
        ratio=proof.ratio if proof is not None else None,
        measure=proof.measure if proof is not None else None,
        reason=next((one.reason for one in finding.proofs if one.reason), finding.no_proof),
    )


def names(finding: Finding, planted: Planted) -> bool:
    """Whether the finding is of this pathology, and has this object."""
    if finding.pathology != planted.pathology:
        return False
    named = (finding.subject, *finding.tables, *(one.name for one in finding.evidence))
    return any(planted.object in one for one in named)


def _word_of_blocks(proof: Proof) -> str:
    """Where blocks are invalid, and on a twin, the word of the proof is that of the plans."""
    return proof.blocks or (proof.word if proof.plans is None else None) or "no verdict"


def _is_cured(event: ProofReached) -> bool:
    plans = event.proof.plans
    return plans is not None and plans.word is PlanWord.CURED


def report(rows: Iterable[Row]) -> str:
    """Tables of the planted causes and of the gains, and the goals."""
    kept = list(rows)
    gains = [gain for row in kept for gain in row.gains]
    return "\n".join((_table(kept), _goals(kept), gains_table(gains), gains_goal(gains) + "\n"))


def _table(rows: Sequence[Row]) -> str:
    columns = (
        *("variant", "planted", "named", "claimed", "statements slowed", "lost by them"),
        *("cure by plans", "by blocks", "took", "load"),
    )
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        if row.failure is not None:
            lines.append(f"| {row.variant} | failed: {row.failure.splitlines()[-1]} |{' |' * (len(columns) - 2)}")
        lines += [f"| {' | '.join(_cells(row, one))} |" for one in row.planted]
    return "\n".join(lines) + "\n"


def _cells(row: Row, one: PlantedSeen) -> tuple[str, ...]:
    claimed = f"{one.claimed_share:.1%}" if one.claimed_share is not None else "-"
    by_blocks = one.reason or "-"
    if one.blocks is not None:
        figures = (
            f" {one.ratio:.2f}x {one.measure}" if one.ratio is not None else f" ({one.reason})" if one.reason else ""
        )
        by_blocks = f"{one.blocks}{figures} after {one.blocks_after_s:.0f} s"
    return (
        *(row.variant, f"{one.pathology}: {one.object}", "yes" if one.finding is not None else "**no**"),
        *(claimed, f"{one.true_share:.1%}", f"{one.lost_share:.1%}"),
        f"{one.plans_after_s:.0f} s" if one.plans_after_s is not None else "-" if one.on_twin else "by study",
        by_blocks,
        f"{row.took_s:.0f} of {row.budget_s:.0f} s",
        f"{row.load_before:.1f} to {row.load_after:.1f}",
    )


def _goals(rows: Sequence[Row]) -> str:
    done = [row for row in rows if row.failure is None]
    planted = [(row, one) for row in done for one in row.planted]
    on_twin = [(row, one) for row, one in planted if one.on_twin]
    named = sum(one.finding is not None for _, one in planted)
    whole = sum(one.has_whole_share for _, one in planted)
    in_time = sum(one.plans_after_s is not None and one.plans_after_s <= row.plans_limit_s for row, one in on_twin)
    by_blocks = sum(one.is_cured_by_blocks and (one.blocks_after_s or 0.0) <= row.budget_s for row, one in planted)
    overrun_s = max((row.overrun_s for row in done), default=0.0)
    lines = (
        f"planted causes named: {named} of {len(planted)} (goal: all)",
        f"with their whole share of the time, within a factor of {WHOLE:g}: {whole} of {len(planted)} (goal: all)",
        f"cure shown by plans within {PLANS_S:g} s, {PLANS_BUSY_S:g} s at a load of {BUSY_LOAD:g}: {in_time} of "
        f"{len(on_twin)} (goal: all)",
        f"cure shown by blocks within the budget: {by_blocks} of {len(planted)} (goal: all)",
        f"longest overrun of the budget: {overrun_s:.1f} s (goal: at most {OVERRUN_S:g} s)",
    )
    return "\n".join(lines) + "\n"
