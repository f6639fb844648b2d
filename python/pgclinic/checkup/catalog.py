"""All known pathologies: one for each file of ``pathologies``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from pgclinic.checkup import pathologies
from pgclinic.checkup.pathology import Pathology


@cache
def catalog() -> Mapping[str, Pathology]:
    """By name, in the order of their names."""
    found: dict[str, Pathology] = {}
    for module in sorted(one.name for one in pkgutil.iter_modules(pathologies.__path__)):
        one = importlib.import_module(f"{pathologies.__name__}.{module}").PATHOLOGY
        found[one.name] = one
    return found
