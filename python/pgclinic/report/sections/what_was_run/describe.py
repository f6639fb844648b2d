"""What a study claims and how it is tested, as text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pgclinic.judge.regions import region_of
from pgclinic.model.study import Claim, Study, Workload
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.sections.next.experiment import profile_words
from pgclinic.report.sections.what_was_run.view import block_range
from pgclinic.report.words.figures import count
from pgclinic.report.words.quantities import range_of_measure
from pgclinic.report.words.verdicts import beside, revision_words, stated_in_full
from pgclinic.report.words.workload import tpcc_rows
from pgclinic.study.duration import expected_s

WIDTH = 100
_FIXED_SPACE = "\u00a0"


def listed_studies(studies: Sequence[Study], times: Sequence[Sequence[str]], width: int) -> str:
    """Name and title of each study, and below the title how long its profiles take, within ``width`` columns."""
    column = max(len(study.name) for study in studies) + 3
    space = max(20, width - column)
    lines = []
    for study, own in zip(studies, times, strict=True):
        # A profile and its time stay together.
        rows = textwrap.wrap(", ".join(one.replace(" ", _FIXED_SPACE) for one in own), space)
        texts = (*textwrap.wrap(study.title, space), *(row.replace(_FIXED_SPACE, " ") for row in rows))
        lines += [f"{study.name if place == 0 else '':<{column}}{text}" for place, text in enumerate(texts)]
    return "\n".join(lines)


def describe_study(study: Study) -> str:
    """Claim, source, protocol and expected time, as ``pgclinic study show`` prints them."""
    source = study.source
    published = f"{source.title} ({source.author}; {source.published})"
    parts = [
        f"{study.name}   {study.title}",
        "",
        *textwrap.wrap(" ".join(study.about.split()), WIDTH),
        "",
        *_field("source", published + (f"  {source.url}" if source.url else "")),
    ]
    for revision in study.revisions:
        parts += _field("revised", revision_words(revision))
    for claim in study.claims:
        parts += _claim_lines(claim)
    parts += ["", *_protocol_lines(study), "", *_time_lines(study)]
    return "\n".join(parts)


def _claim_lines(claim: Claim) -> list[str]:
    held = range_of_measure(claim.measure, region_of(claim), claim.published_ratio)
    label, text = stated_in_full(claim)
    word = VerdictWord.REPLICATED if claim.expected is None else VerdictWord.CONFIRMED
    reason = f" ({claim.region_reason})" if claim.region_reason else ""
    lines = [
        *_field("claim", claim.text),
        *_field(label, text),
        *_field(word.value, f"if the 95 % CI of {claim.arm} / {beside(claim)} is {held}{reason}"),
    ]
    for mechanism in claim.mechanisms:
        bound = "at least" if mechanism.ratio_min >= 1 else "at most"
        need = f"{mechanism.about}: {bound} {mechanism.ratio_min:g}x those of {claim.control}"
        lines += _field("mechanism", need)
    for revision in claim.revisions:
        lines += _field("revised", revision_words(revision))
    return lines


def _protocol_lines(study: Study) -> list[str]:
    workload = study.workload
    lines = []
    for name, arm in study.arms.items():
        settings = ", ".join(f"{key} = {value}" for key, value in arm.settings.items())
        lines += _field("arm", f"{name}: {arm.about}" + (f" ({settings})" if settings else ""))
    lines += _load_lines(workload)
    if workload.probe:
        lines += _field("probe", workload.probe)
    lines += _field("blocks", "one trial of every arm, in counterbalanced order, each on a fresh copy of the data")
    return lines


def _load_lines(workload: Workload) -> list[str]:
    lines = []
    if workload.tpcc is not None:
        for label, content in tpcc_rows(workload.tpcc, None):
            lines += _field(label.lower(), content)
    lines += _field("load", f"{workload.clients} clients, closed loop, {workload.protocol.value} protocol")
    for script in workload.scripts:
        lines += [" " * 14 + row for row in script.text.strip().splitlines()]
    return lines


def _time_lines(study: Study) -> list[str]:
    lines = []
    for name, profile in study.profiles.items():
        seconds = ", ".join(f"{arm} {value:g} s" for arm, value in profile.measure_s.items())
        size = f"{count(profile.warehouses, 'warehouse')}, " if profile.warehouses is not None else ""
        lines += _field(
            " ".join(profile_words(name)),
            f"{size}{block_range(profile)} ({seconds}): {minutes(expected_s(profile))} to the "
            f"earliest verdict, at most {minutes(profile.budget_s)}",
        )
    return lines


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds < 600 else f"{seconds / 60:.0f} min"


def _field(label: str, text: str) -> list[str]:
    rows = textwrap.wrap(text, WIDTH - 14) or [""]
    # A name that fills its column still has a space behind it.
    return [f"  {label:<11} {rows[0]}", *(" " * 14 + row for row in rows[1:])]
