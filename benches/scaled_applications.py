"""The applications at several times their rows, made by their own generators: the originals that growth leads to.

A shop with 16 times the customers is 16 groups of customers, each as unequal as the one group of the shop at size 1: a
customer has as many orders as before. Times keep their range, with more rows in each day. Tables of reference data
keep their rows. The generators are the SQL files of the tests; the numbers of rows in them, what refers to rows by
number and the steps of time are replaced, each as often as it is known to be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from fixtures.application import FIXTURES, Application, filled_with
from fixtures.clinic import CLINIC
from fixtures.shop import SHOP
from fixtures.tpcc import tpcc_application
from pgclinic.errors import UsageError
from pgclinic.model.load import Script

#: Salts of the generators end below.
_OTHER_SALT = 7000


@dataclass(frozen=True)
class Generator:
    """What grows in a fill.sql and its scripts, each with how often it is there.

    ``rows`` are upper ends of generate_series, ``references`` numbers of rows that others refer to, ``steps`` intervals
    between neighbouring rows, ``others`` texts with what stands in their place, where {scale} is the factor.
    ``draws`` are upper ends of random numbers in scripts.
    """

    rows: Mapping[int, int]
    references: Mapping[int, int]
    steps: Mapping[str, int]
    others: tuple[tuple[str, str, int], ...]
    draws: Mapping[int, int]
    zipfian: Mapping[int, int]


_GENERATORS = {
    "shop": Generator(
        rows={6000: 2, 2500: 2, 15000: 3, 3500: 1, 1800: 1},
        references={6000: 4, 2500: 3},
        steps={"3 hours": 2, "3 minutes": 2, "70 minutes": 1, "4 hours": 1, "5 minutes": 1},
        others=(("i > 14600", "i > 15000 * {scale} - 400 * {scale}", 1),),
        draws={6000: 3, 2500: 2},
        zipfian={6000: 2, 2500: 2},
    ),
    "clinic": Generator(
        rows={40000: 4, 50000: 1, 168000: 1, 4000: 1, 12000: 1},
        references={40000: 6},
        steps={"90 minutes": 1, "12 minutes": 1, "10 minutes": 1, "180 seconds": 1, "1 hour": 1, "10 seconds": 1},
        others=(
            ("generate_series(0, 259) as n", "generate_series(0, (260 * {scale})::int - 1) as n", 1),
            ("practitioner_id * 1000 + n", "practitioner_id * 100000 + n", 2),
            (
                "floor(n * 1.4) * interval '1 day'",
                "floor(n * 1.4 / {scale}) * interval '1 day' + (n % ceil({scale})::int) * interval '1 minute'",
                1,
            ),
            ("i <= 2000", "i <= 2000 * {scale}", 3),
        ),
        draws={40000: 4, 70000: 2, 50000: 1},
        zipfian={40000: 5},
    ),
}
#: Tables with more than a thousand rows that do not grow with an application, and small ones that do.
FIXED = {"shop": (), "clinic": ("icd_code", "drug", "daily_load"), "tpcc": ("item",)}
GROWING = {"shop": (), "clinic": (), "tpcc": ("warehouse", "district")}
_APPLICATIONS = {"shop": SHOP, "clinic": CLINIC}


def scaled_application(name: str, scale: float) -> Application:
    """The application with ``scale`` times its rows; TPC-C with so many warehouses, 1 at least.

    Raises UsageError where its generator has another number of a text that is replaced than is known.
    """
    if name == "tpcc":
        return tpcc_application(max(1, round(scale)))
    if scale == 1.0:
        return _APPLICATIONS[name]
    generator = _GENERATORS[name]
    folder = FIXTURES / name
    drawn = (FIXTURES / "drawn_rows.sql").read_text(encoding="utf-8")
    schema = (folder / "schema.sql").read_text(encoding="utf-8")
    text = "\n".join((schema, drawn, _filling((folder / "fill.sql").read_text(encoding="utf-8"), generator, scale)))
    counted = dict.fromkeys((*generator.draws, *(-one for one in generator.zipfian)), 0)
    scripts = tuple(_script(one, generator, scale, counted) for one in _APPLICATIONS[name].scripts)
    for number, often in generator.draws.items():
        _check(f"random(1, {number})", counted[number], often)
    for number, often in generator.zipfian.items():
        _check(f"random_zipfian(1, {number})", counted[-number], often)
    digest = sha256(text.encode()).hexdigest()[:16]
    return replace(_APPLICATIONS[name], rows=f"{name}-{scale:g}-{digest}", fill=filled_with(text), scripts=scripts)


def _filling(text: str, generator: Generator, scale: float) -> str:
    factor = f"{scale:g}"
    for number, often in generator.rows.items():
        wanted = f"generate_series(1, {number})"
        _check(wanted, text.count(wanted), often)
        text = text.replace(wanted, f"generate_series(1, {round(number * scale)})")
    for number, often in generator.references.items():
        text, found = re.subn(
            rf"floor\({number} \* (?P<drawn>(?:power\()?pg_temp\.u\((?P<row>[^()]*?), (?P<salt>\d+)\)"
            r"(?:, [\d.]+\))?)\)",
            lambda match, number=number: _reference(match, number, scale),
            text,
        )
        _check(f"floor({number} * ...)", found, often)
    for step, often in generator.steps.items():
        wanted = f"i * interval '{step}'"
        _check(wanted, text.count(wanted), often)
        text = text.replace(wanted, f"{wanted} / {factor}")
    for wanted, other, often in generator.others:
        _check(wanted, text.count(wanted), often)
        text = text.replace(wanted, other.format(scale=factor))
    return text


def _reference(match: re.Match[str], number: int, scale: float) -> str:
    """A row of one of the groups, each as unequal as the only one of size 1."""
    groups = max(1, round(scale))
    each = f"{number * scale / groups:g}"
    other = f"pg_temp.u({match['row']}, {int(match['salt']) + _OTHER_SALT})"
    return f"(floor({each} * {match['drawn']}) + {each} * floor({groups} * {other}))"


def _script(script: Script, generator: Generator, scale: float, counted: dict[int, int]) -> Script:
    text = script.text
    for number in generator.draws:
        wanted = f"random(1, {number})"
        counted[number] += text.count(wanted)
        text = text.replace(wanted, f"random(1, {round(number * scale)})")
    groups = max(1, round(scale))
    for number in generator.zipfian:
        each = round(number * scale / groups)
        text, found = re.subn(
            rf"random_zipfian\(1, {number}, ([\d.]+)\)",
            rf"random_zipfian(1, {each}, \1) + {each} * random(0, {groups - 1})",
            text,
        )
        counted[-number] += found
    return Script(name=script.name, text=text, weight=script.weight)


def _check(text: str, found: int, expected: int) -> None:
    if found != expected:
        raise UsageError(f"the generator has {text} {found} times, not {expected} times", hint="scaled_applications.py")
