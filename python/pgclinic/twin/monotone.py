"""Numbers and times moved a little, each less than half-way to its neighbours: order stays, no known value does."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from random import Random

_EPOCH = datetime(2000, 1, 1)
_MICROSECONDS = 1_000_000
_STEPS_US = (86_400 * _MICROSECONDS, 3600 * _MICROSECONDS, 60 * _MICROSECONDS, _MICROSECONDS, 1000, 1)


def move_numbers(values: Collection[str], fixed: Collection[str], rng: Random) -> dict[str, str]:
    """Each number as text, as precise as the most precise one; 0 and ``fixed`` stay.

    Zeros at the end are no precision: amounts that are round stay so, as more digits take more room on disk.
    """
    known = {value: number for value in values if (number := _number(value)) is not None}
    if not known:
        return {}
    exponents = [_exponent(number) for number in known.values() if number]
    if not exponents:
        return {value: value for value in known}
    # numeric stores four digits together: from one such group to the next more digits cost nothing.
    last = min(exponents)
    coarse = last if last < 0 else last - last % 4
    for exponent in dict.fromkeys((coarse, min(coarse, 0))):
        unit = Decimal(1).scaleb(exponent)
        places = {value: int(number / unit) for value, number in known.items()}
        stay = {0, *(int(number / unit) for text in fixed if (number := _number(text)) is not None)}
        moved = _moved(set(places.values()), stay, rng)
        # Values that lie close together have no room in large steps.
        if all(moved[place] != place for place in places.values() if place not in stay):
            break
    return {value: _number_text(moved[place], unit, value) for value, place in places.items()}


def move_times(values: Collection[str], fixed: Collection[str], rng: Random) -> dict[str, str]:
    """Each date, time or timestamp in ISO form, as precise as the most precise one. What is neither stays."""
    known = {value: found for value in values if (found := _microseconds(value)) is not None}
    if not known:
        return {}
    stay = {found for text in fixed if (found := _microseconds(text)) is not None}
    step = next(one for one in _STEPS_US if all(found % one == 0 for found in known.values()))
    moved = _moved({found // step for found in known.values()}, {found // step for found in stay}, rng)
    return {value: _time_text(moved[found // step] * step, value) for value, found in known.items()}


def move_addresses(values: Collection[str], rng: Random) -> dict[str, str]:
    """Each address of inet or cidr; what stands behind the slash stays. A network keeps its zero bits."""
    result: dict[str, str] = {}
    for version in (4, 6):
        known: dict[str, int] = {}
        for value in values:
            try:
                address = ipaddress.ip_address(value.partition("/")[0])
            except ValueError:
                continue
            if address.version == version and _is_host(value):
                known[value] = int(address)
        moved = _moved(set(known.values()), {0}, rng)
        make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        result |= {
            value: str(make(moved[place])) + value[len(value.partition("/")[0]) :] for value, place in known.items()
        }
    return result


def _is_host(value: str) -> bool:
    """Whether all bits are free: moving a network would set bits behind its mask."""
    bits = value.partition("/")[2]
    return not bits or int(bits) in (32, 128) or str(ipaddress.ip_interface(value).network) != value


def _moved(places: Collection[int], fixed: Collection[int], rng: Random) -> Mapping[int, int]:
    """A strictly increasing map of whole numbers that changes all but the fixed, where there is room."""
    # Fixed numbers are borders even if no value equals them: a bound of a check stays on the same side of every value.
    known = sorted(set(places) | set(fixed))
    if len(known) == 1:
        return {known[0]: known[0]} if known[0] in fixed else {known[0]: known[0] + rng.choice((1, 2, 3))}
    # No further than values lie apart: the end of a sequence is a fixed number, and no type but its own reaches there.
    values = sorted(places)
    reach = max((after - one for one, after in pairwise(values)), default=3)
    moved = {}
    for at, place in enumerate(known):
        before = min((place - known[at - 1] - 1) // 2, reach) if at else 0
        behind = min((known[at + 1] - place - 1) // 2, reach) if at + 1 < len(known) else 0
        moved[place] = place if place in fixed else _beside(place, before, behind, rng)
    return moved


def _beside(place: int, before: int, behind: int, rng: Random) -> int:
    room = before + behind
    if room == 0:
        return place
    step = rng.randrange(room)
    return place - before + step if step < before else place + 1 + step - before


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _exponent(number: Decimal) -> int:
    """Of the last digit that is not 0: -2 for 1.250, 3 for 5000."""
    exponent = number.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _number_text(place: int, unit: Decimal, like: str) -> str:
    """Printed with as many digits behind the point as the original, more only where it needs them."""
    number = Decimal(place) * unit
    digits = max(len(like.partition(".")[2]) if "e" not in like.lower() else 0, -_exponent(number) if number else 0)
    return format(number, f".{digits}f")


def _microseconds(text: str) -> int | None:
    """Since 2000, or since midnight for a time of day; times with a zone are in UTC."""
    bare = text.removesuffix("+00")
    try:
        if ":" in bare and "-" not in bare:
            found = datetime.combine(_EPOCH.date(), time.fromisoformat(bare))
        else:
            found = datetime.fromisoformat(bare)
    except ValueError:
        return None
    if found.tzinfo is not None:
        return None
    return (found - _EPOCH) // timedelta(microseconds=1)


def _time_text(microseconds: int, like: str) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return like
    bare = like.removesuffix("+00")
    zone = like[len(bare) :]
    if ":" not in bare:
        return date(moment.year, moment.month, moment.day).isoformat()
    of_day = moment.strftime("%H:%M:%S") + (f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else "")
    return of_day if "-" not in bare else f"{moment.date().isoformat()} {of_day}{zone}"
