"""Why a run gives no answer, in a line that needs no other word of the report."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.verdict import InvalidReason, MechanismSeen

_REASONS = {
    InvalidReason.STARVED_CPU: "other programs used most of the CPU",
    InvalidReason.NEVER_STARTED: "a server could not be started",
    InvalidReason.CALIBRATION_REFUSED: "the A/A calibration advised against the run",
    InvalidReason.TWIN_UNLIKE: "the twin is not alike enough to its original",
    InvalidReason.NO_BLOCK: "no block can be used",
}
#: As a proof has them.
_BY_NAME = {
    name: words for because, words in _REASONS.items() for name in (because.value, because.value.replace("_", " "))
}


def no_answer(because: InvalidReason | None, mechanisms: Sequence[MechanismSeen] = ()) -> str:
    """The refusal as a headline: "No answer: other programs used most of the CPU"."""
    if because is InvalidReason.CAUSE_NOT_SHOWN:
        return f"No answer: {_cause_not_shown(mechanisms)}"
    return f"No answer: {_REASONS[because]}" if because is not None else "No answer"


def _cause_not_shown(mechanisms: Sequence[MechanismSeen]) -> str:
    missed = [seen for seen in mechanisms if not seen.moved]
    unread = [seen.about for seen in missed if seen.arm is None or seen.control is None]
    if unread:
        return f"{' and '.join(unread)} could not be read"
    if not missed:
        return "the claimed cause did not show"
    return f"{' and '.join(seen.about for seen in missed)} did not change as claimed"


def proof_reason(reason: str) -> str:
    """Why a proof has no verdict: the name of one of these in a sentence, any other reason as it is."""
    return _BY_NAME.get(reason, reason)
