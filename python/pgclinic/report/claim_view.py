"""One claim as the page shows it: every cell already in words, so that the template only places them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.run import RunInfo
from pgclinic.model.study import Claim, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import ClaimVerdict, MechanismSeen, WindowSeen
from pgclinic.report.interval_picture import IntervalPicture, interval_picture
from pgclinic.report.wording import MARKS, claim_of, interval_text, plain_sentence, word_in_full
from pgclinic.stats.log_ratio import log_ratio, ratio_range
from pgclinic.stats.student_t import t_interval
from pgclinic.study.figures import number, percent, ratio, span, times

_NONE = "-"


@dataclass(frozen=True)
class ClaimView:
    """``kind`` names the style of the word, ``ratio`` is the big figure; tables are rows of cells.

    ``plain_interval`` is the ordinary t interval, None unless the number of blocks was fixed before the run.
    """

    claim: Claim
    kind: str
    mark: str
    word: str
    ratio: str | None
    interval: str
    sentence: str
    picture: IntervalPicture
    region: str
    null_zone: str
    windows: tuple[tuple[str, ...], ...]
    windows_arm: str | None
    mechanisms: tuple[tuple[str, ...], ...]
    mechanisms_moved: bool
    how: tuple[str, ...]
    blocks: tuple[tuple[str, ...], ...]
    plain_interval: str | None


def claim_view(run: RunInfo, study: Study, trials: Sequence[TrialRecord], verdict: ClaimVerdict) -> ClaimView:
    claim = claim_of(study, verdict)
    published = claim.published_windows
    return ClaimView(
        claim=claim,
        kind=verdict.word.value.replace(" ", "-"),
        mark=MARKS[verdict.word],
        word=word_in_full(verdict),
        ratio=times(verdict.interval.ratio) if verdict.interval is not None else None,
        interval=interval_text(verdict.interval),
        sentence=plain_sentence(claim, verdict),
        picture=interval_picture(verdict),
        region=span(verdict.region),
        null_zone=span(verdict.null_zone),
        windows=window_rows(verdict.windows),
        windows_arm=published.arm if published is not None else None,
        mechanisms=tuple(mechanism_row(seen) for seen in verdict.mechanisms),
        mechanisms_moved=all(seen.moved for seen in verdict.mechanisms),
        how=verdict.how,
        blocks=block_rows(claim, verdict, trials),
        plain_interval=plain_interval(run, study, verdict),
    )


def plain_interval(run: RunInfo, study: Study, verdict: ClaimVerdict) -> str | None:
    """The ordinary t interval, which is narrower, where nobody could have stopped the run on what it showed."""
    profile = study.profiles.get(run.profile)
    if profile is None or profile.blocks_min != profile.blocks_max or len(verdict.blocks) != profile.blocks_max:
        return None
    low, high = t_interval([log_ratio(block.arm_tps, block.control_tps) for block in verdict.blocks])
    return span(ratio_range(low, high))


def window_rows(windows: Sequence[WindowSeen]) -> tuple[tuple[str, ...], ...]:
    """Window, published and measured TPS, and both against their own first window: machines differ, shapes need not."""
    if not windows:
        return ()
    published_first, measured_first = windows[0].published_tps, windows[0].measured_tps
    rows = []
    for window in windows:
        measured = window.measured_tps
        rows.append(
            (
                f"{window.start_s:g}-{window.end_s:g} s",
                number(window.published_tps),
                number(measured) if measured is not None else _NONE,
                percent(window.published_tps / published_first) if published_first else _NONE,
                percent(measured / measured_first) if measured is not None and measured_first else _NONE,
            )
        )
    return tuple(rows)


def mechanism_row(seen: MechanismSeen) -> tuple[str, ...]:
    """Counter, control, arm, change, what was needed, and whether it moved."""
    bound = "at least" if seen.ratio_min >= 1 else "at most"
    return (
        seen.about,
        number(seen.control) if seen.control is not None else _NONE,
        number(seen.arm) if seen.arm is not None else _NONE,
        times(seen.arm / seen.control) if seen.arm is not None and seen.control else _NONE,
        f"{bound} {seen.ratio_min:g}x",
        "✓\u00a0moved" if seen.moved else "✗ did not move",
    )


def block_rows(claim: Claim, verdict: ClaimVerdict, trials: Sequence[TrialRecord]) -> tuple[tuple[str, ...], ...]:
    """Every block that ran: its order, the TPS of both arms over the claim's seconds, and their ratio."""
    used = {block.block: block for block in verdict.blocks}
    rows = []
    for block in sorted({trial.spec.block for trial in trials}):
        inside = sorted((t for t in trials if t.spec.block == block), key=lambda trial: trial.spec.number)
        order = ", ".join(_with_outcome(trial) for trial in inside)
        seen = used.get(block)
        if seen is None:
            rows.append((str(block), order, _NONE, _NONE, "left out"))
        else:
            rows.append((str(block), order, number(seen.control_tps), number(seen.arm_tps), ratio(seen.ratio)))
    return tuple(rows)


def _with_outcome(trial: TrialRecord) -> str:
    return trial.spec.arm if trial.outcome is TrialOutcome.DONE else f"{trial.spec.arm} (failed)"
