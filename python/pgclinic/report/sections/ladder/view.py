"""What the page shows of a ladder beyond the staircase: how big it is, and why it is not as big as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.run import RunInfo
from pgclinic.model.study import Question, Study
from pgclinic.model.traffic import TpccTraffic
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import ClaimVerdict, Verdict
from pgclinic.report.sections.ladder.picture import Staircase, staircase
from pgclinic.report.sections.ladder.steps import is_ladder, ladder_steps
from pgclinic.report.words.figures import count
from pgclinic.report.words.quantities import slower, slower_range
from pgclinic.report.words.verdicts import claim_of
from pgclinic.report.words.workload import clients_of, warehouses_of

_NONE = "-"


@dataclass(frozen=True)
class Size:
    """A claim for which the source has several figures; rows are the figure, its words, inside or not, the nearest."""

    arm: str
    control: str
    sentence: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class LadderView:
    staircase: Staircase | None
    sizes: tuple[Size, ...]
    scale: tuple[tuple[str, ...], ...]


def ladder_view(run: RunInfo, study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> LadderView | None:
    """None for a study whose source has no figures arm by arm."""
    if not is_ladder(verdict):
        return None
    return LadderView(
        staircase=staircase(ladder_steps(study, verdict)),
        sizes=tuple(size_of(claim_of(study, claim), claim) for claim in verdict.claims if claim.published_others),
        scale=scale_rows(run, study, trials, verdict),
    )


def size_of(claim: Question, verdict: ClaimVerdict) -> Size:
    """The source's figures beside each other, the largest effect first, and the measured one among them."""
    ordered = sorted(verdict.published_others, key=lambda one: one.ratio)
    rows = [
        (
            slower(published.ratio),
            published.text,
            _inside(verdict, published.supported),
            "✓\u00a0nearest" if published.nearest else "",
        )
        for published in ordered
    ]
    rows.append((_measured(verdict), "measured here", _limits(verdict), ""))
    return Size(arm=claim.arm, control=claim.control, sentence=_size_sentence(claim, verdict), rows=tuple(rows))


def _inside(verdict: ClaimVerdict, supported: bool) -> str:
    if verdict.interval is None or verdict.interval.low is None:
        return "no CI yet"
    return "✓\u00a0inside" if supported else "✗ outside"


def _measured(verdict: ClaimVerdict) -> str:
    return slower(verdict.interval.ratio) if verdict.interval is not None else _NONE


def _limits(verdict: ClaimVerdict) -> str:
    interval = verdict.interval
    if interval is None or interval.low is None or interval.high is None:
        return _NONE
    return slower_range(interval.low, interval.high)


def _size_sentence(claim: Question, verdict: ClaimVerdict) -> str:
    others = verdict.published_others
    pair = f"{claim.arm} against {claim.control}"
    opening = f"For {pair} the source prints {count(len(others), 'figure')} that differ. "
    opening = opening if len(others) > 1 else ""
    supported = sum(other.supported for other in others)
    if verdict.interval is None or verdict.interval.low is None:
        return f"{opening}This run has no confidence interval yet to compare them with."
    if supported == 0:
        nearest = next((f"; the nearest is {slower(other.ratio)}" for other in others if other.nearest), "")
        return (
            f"{opening}None is inside the interval measured here, on a different machine with different data{nearest}."
        )
    if supported == len(others) > 1:
        return f"{opening}All are inside the interval measured here, which does not distinguish them."
    some = (
        f"{supported} of them {'is' if supported == 1 else 'are'}" if len(others) > 1 else "The figure of the source is"
    )
    return f"{opening}{some} inside the interval measured here."


def scale_rows(
    run: RunInfo, study: Study, trials: Sequence[TrialRecord], verdict: Verdict
) -> tuple[tuple[str, ...], ...]:
    """What an effect's size depends on: as published, as it is here where that is known, and what follows."""
    here = _known_here(run, study, trials, verdict)
    return tuple(
        (scale.what, scale.published, here.get(scale.what.lower()) or _NONE, scale.effect) for scale in study.scale
    )


def _known_here(run: RunInfo, study: Study, trials: Sequence[TrialRecord], verdict: Verdict) -> dict[str, str | None]:
    """By the words that study files use, in lower case."""
    machine, profile = run.machine, study.profiles.get(run.profile)
    warehouses, clients = warehouses_of(profile, trials), clients_of(study, profile, trials)
    return {
        "warehouses": f"{warehouses:,}" if warehouses is not None else None,
        "terminals": f"{clients:,}",
        "clients": f"{clients:,}",
        "isolation": _isolation(trials),
        "cores": f"{machine.cores} ({machine.cpu_model})",
        "memory": f"{machine.memory_bytes / 1024**3:.0f} GiB",
        "postgresql": verdict.server_version,
    }


def _isolation(trials: Sequence[TrialRecord]) -> str | None:
    """The isolation of TPC-C's transactions, in words."""
    traffic = [trial.spec.traffic for trial in trials]
    levels = {one.isolation.value for one in traffic if isinstance(one, TpccTraffic)}
    return " and ".join(sorted(level.replace("_", " ") for level in levels)) or None
