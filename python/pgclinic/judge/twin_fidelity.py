"""Whether a twin is alike enough to its original for an answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.fidelity import Fidelity
from pgclinic.model.reason import TwinUnlike
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.changed_statements import changed_us

#: With more than this outside of tolerance the answer is theirs: of the time by which statements differ between the
#: arms, or where none clearly differs of the time of all.
OUTSIDE_TIME_SHARE = 0.5


def twin_unlike(fidelity: Fidelity | None, blocks: Sequence[tuple[TrialRecord, TrialRecord]] = ()) -> TwinUnlike | None:
    """Why a verdict by throughput would say nothing about the original; None where it says something.

    ``blocks`` are the trials of both arms, by which the statements are known that the change touches.
    """
    if fidelity is None:
        return None
    outside = [statement for statement in fidelity.statements if not statement.is_within]
    share = sum(one.time_share for one in outside) + sum(one.time_share for one in fidelity.omitted)
    changed = _changed_outside(fidelity, blocks)
    rests_on = share if changed is None else changed
    if fidelity.judges_throughput and rests_on <= OUTSIDE_TIME_SHARE:
        return None
    return TwinUnlike(
        judges_throughput=fidelity.judges_throughput,
        outside=len(outside) + len(fidelity.omitted),
        statements=len(fidelity.statements) + len(fidelity.omitted),
        outside_time_share=share,
        outside_change_share=changed,
    )


def _changed_outside(fidelity: Fidelity, blocks: Sequence[tuple[TrialRecord, TrialRecord]]) -> float | None:
    """Of the time by which statements clearly differ between the arms, the share of those out of tolerance.

    None where no statement clearly differs. A statement that no capture knows, such as one of the user's own scripts,
    is not one of the twin.
    """
    is_within = {key: statement.is_within for statement in fidelity.statements for key in statement.fingerprints}
    changed = {key: abs(us) for key, us in changed_us(blocks).items() if key in is_within}
    whole = sum(changed.values())
    if not whole:
        return None
    return sum(us for key, us in changed.items() if not is_within[key]) / whole
