"""Whether a trial shows that its load cannot succeed, so that more trials would only repeat it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.errors import WorkloadError
from pgclinic.model.load import Failure, LoadResult
from pgclinic.model.trial import TrialRecord

#: What the server refuses every time: by SQLSTATE class of its manual's appendix A. Not among them: what may pass, as
#: conflicts (40), resources (53), locks (55), an operator (57), the system (58) and lost connections (08).
_PERMANENT_CLASSES = frozenset(
    (
        "0A",
        "21",
        "22",
        "23",
        "25",
        "26",
        "28",
        "2B",
        "2D",
        "2F",
        "34",
        "38",
        "39",
        "3B",
        "3D",
        "3F",
        "42",
        "44",
        "54",
        "P0",
    )
)
#: What the engine itself finds wrong with a script.
_OF_THE_SCRIPT = "script"


def refuse_broken(record: TrialRecord, before: Sequence[TrialRecord]) -> None:
    """Raise WorkloadError where no transaction of the trial succeeded and all failed for good.

    ``before`` are earlier trials: where one of the same arm committed anything, its load can succeed.
    """
    load = record.load
    if load is None or _succeeded(load) or not load.failures or load.failed == 0:
        return
    if any(one.load is not None and _succeeded(one.load) for one in before if one.spec.arm == record.spec.arm):
        return
    if all(_is_permanent(failure) for failure in load.failures):
        raise WorkloadError(_words(record.spec.arm, load))


def _succeeded(load: LoadResult) -> bool:
    return load.transactions + load.warm_up_transactions + load.rolled_back > 0


def _is_permanent(failure: Failure) -> bool:
    return failure.sqlstate == _OF_THE_SCRIPT or failure.sqlstate[:2] in _PERMANENT_CLASSES


def _words(arm: str, load: LoadResult) -> str:
    failure = max(load.failures, key=lambda one: one.count)
    line = _line(failure, load)
    place = f"script {failure.script}" + (f", line {line}" if line is not None else "")
    state = "" if failure.sqlstate == _OF_THE_SCRIPT else f" ({failure.sqlstate})"
    return f"no transaction of arm {arm} succeeded; {place}: {failure.message}{state}"


def _line(failure: Failure, load: LoadResult) -> int | None:
    """The line of the command that failed; None where the message names it, or no single command is at fault."""
    if failure.sqlstate == _OF_THE_SCRIPT:
        return None
    script = next((result for result in load.scripts if result.name == failure.script), None)
    failed = [statement for statement in script.statements if statement.failures] if script is not None else []
    return max(failed, key=lambda one: one.failures).line if failed else None
