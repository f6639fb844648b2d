"""Values between one that works and one that does not, for settings that are numbers. Pure."""

from __future__ import annotations

import math

from pgclinic.settings.catalog import SettingsCatalog
from pgclinic.settings.values import parse_integer, parse_real


def value_between(catalog: SettingsCatalog, name: str, works: str | None, fails: str) -> str | None:
    """Half the way, by ratio where that is possible, as the ranges of settings go over many decades.

    ``works`` is None for the default. None where the setting is no number, or has none between the two.
    """
    setting = catalog.find(name)
    if setting is None or setting.vartype not in ("integer", "real"):
        return None
    good_text = works if works is not None else setting.boot_val
    parse = parse_integer if setting.vartype == "integer" else parse_real
    try:
        good, bad = (float(parse(one or "", setting.unit, catalog.major)) for one in (good_text, fails))
    except ValueError:
        return None
    middle = math.sqrt(good * bad) if good > 0 and bad > 0 else (good + bad) / 2
    if setting.vartype == "integer":
        middle = float(round(middle))
    if middle in (good, bad):
        return None
    return f"{middle:.0f}" if setting.vartype == "integer" else repr(middle)
