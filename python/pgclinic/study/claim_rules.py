"""What makes a claim one that can fail: something published or expected, and a region that excludes no difference."""

from __future__ import annotations

import math
from datetime import date

from pgclinic.errors import StudyFileError
from pgclinic.judge.regions import direction_of, region_of
from pgclinic.model.study import Bound, Claim, Direction
from pgclinic.stats.claimed_region import direction, null_zone
from pgclinic.study.toml_lines import Where


def check_question(claim: Claim, where: Where) -> None:
    """Raise StudyFileError where a claim cannot be judged fairly; ``where`` names the file and the claim."""
    if (claim.published is None) == (claim.expected is None):
        raise StudyFileError(
            f"{where}: needs published or expected, one of the two",
            hint="published is what the source prints; expected is a direction with a reason",
        )
    _check_published(claim, where)
    if claim.expected is not None and not claim.expected.reason.strip():
        raise StudyFileError(f"{where}: expected needs a reason")
    _check_region(claim, where)
    for revision in claim.revisions:
        _check_date(revision.date, where)


def _check_published(claim: Claim, where: Where) -> None:
    published = claim.published
    if published is None:
        return
    if not published.text.strip():
        raise StudyFileError(f"{where}: published needs the source's own words or figures as its text")
    if (published.ratio is None) == (published.direction is None):
        raise StudyFileError(
            f"{where}: published needs a ratio or a direction, one of the two",
            hint="a ratio only where the source prints it, or figures that give it",
        )
    if published.bound is not None and published.ratio is None:
        raise StudyFileError(f"{where}: published.bound needs a ratio")
    away = {Bound.AT_LEAST: 1, Bound.AT_MOST: -1}
    if (
        published.bound is not None
        and published.ratio is not None
        and direction(published.ratio) != away[published.bound]
    ):
        raise StudyFileError(
            f"{where}: {published.bound.value} {published.ratio:g} includes no difference",
            hint="at_least needs a ratio above 1.05, at_most one below 0.95",
        )


def _check_region(claim: Claim, where: Where) -> None:
    if claim.region is None:
        if claim.region_reason is not None:
            raise StudyFileError(f"{where}: region_reason without a region")
        return
    if not (claim.region_reason or "").strip():
        raise StudyFileError(
            f"{where}: region needs a region_reason",
            hint="omit the region: half to twice the published log effect is the default",
        )
    named = claim.expected.direction if claim.expected is not None else None
    if named in (Direction.LOWER, Direction.HIGHER):
        raise StudyFileError(f"{where}: an expected direction has no region: all beyond the equivalence margin counts")
    low, high = region_of(claim)
    margin = null_zone()
    if direction_of(claim) == 0:
        if not low <= 1.0 <= high:
            raise StudyFileError(f"{where}: the region of a claim of no difference must contain 1")
    elif not (high <= margin[0] or low >= margin[1]):
        raise StudyFileError(
            f"{where}: the region {_edges(low, high)} reaches into the equivalence margin {_edges(*margin)}, "
            "so no difference would count as the claimed effect"
        )
    ratio = claim.published_ratio
    if ratio is not None and not low <= ratio <= high:
        raise StudyFileError(f"{where}: the region {_edges(low, high)} does not contain the published {ratio:g}")


def _edges(low: float, high: float) -> str:
    return f"{low:.3g} and more" if math.isinf(high) else f"{low:.3g} to {high:.3g}"


def _check_date(text: str, where: Where) -> None:
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise StudyFileError(f"{where}: {text!r} is not a valid date of a revision; write YYYY-MM-DD") from error
