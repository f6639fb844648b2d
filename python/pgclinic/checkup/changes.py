"""Two checkups of one server compared, finding by finding."""

from __future__ import annotations

from pgclinic.model.checkup import Change, Changes, Checkup
from pgclinic.model.finding import CostKind, Finding

#: Costs are read once, over a few seconds: two readings of a steady server differ by less than that.
FACTOR_MIN = 1.25
#: The same of a share of time, as a difference: 2 % and 4 % are a factor of two and nobody's concern.
SHARE_MIN = 0.1
#: Costs that are worse the less there is.
_FALLING = frozenset({CostKind.DAYS_LEFT, CostKind.SECONDS_LEFT})


def compare_checkups(before: Checkup, after: Checkup) -> Changes:
    """What is new, worse, better or gone in ``after``. A finding is the same one if its key is."""
    earlier = {finding.key: finding for finding in before.findings}
    now = {finding.key: finding for finding in after.findings}
    blind = {one.pathology for one in after.unchecked}
    kept = [(earlier[key], one) for key, one in now.items() if key in earlier]
    lost = [Change(key=key, before=one, after=None) for key, one in earlier.items() if key not in now]
    signs = [(_sign(one, other), Change(key=one.key, before=one, after=other)) for one, other in kept]
    return Changes(
        since_epoch_s=before.taken_epoch_s,
        health_before=before.health,
        new=tuple(Change(key=key, before=None, after=one) for key, one in now.items() if key not in earlier),
        worse=tuple(change for sign, change in signs if sign > 0),
        better=tuple(change for sign, change in signs if sign < 0),
        gone=tuple(one for one in lost if one.before is not None and one.before.pathology not in blind),
        unknown=tuple(one for one in lost if one.before is not None and one.before.pathology in blind),
        same=sum(sign == 0 for sign, _ in signs),
    )


def _sign(before: Finding, after: Finding) -> int:
    """1 for worse, -1 for better: by severity, then by cost, then by the share of time."""
    if before.severity is not after.severity:
        return _direction(after.severity.rank - before.severity.rank)
    if before.cost is not None and after.cost is not None and before.cost.kind is after.cost.kind:
        if before.cost.kind in (CostKind.TIME_SHARE, CostKind.CPU_SHARE):
            return _by_share(before.cost.value, after.cost.value)
        sign = _by_factor(before.cost.value, after.cost.value)
        if sign:
            return -sign if after.cost.kind in _FALLING else sign
    return _by_share(before.time_share or 0.0, after.time_share or 0.0)


def _by_factor(before: float, after: float) -> int:
    low, high = sorted((before, after))
    if high <= 0 or high < low * FACTOR_MIN:
        return 0
    return _direction(after - before)


def _by_share(before: float, after: float) -> int:
    return 0 if abs(after - before) < SHARE_MIN else _direction(after - before)


def _direction(difference: float) -> int:
    return (difference > 0) - (difference < 0)
