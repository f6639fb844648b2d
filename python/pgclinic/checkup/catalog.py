"""All known pathologies: one for each file in ``pathologies`` that has a PATHOLOGY; the others are what those share."""

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
    modules = pkgutil.walk_packages(pathologies.__path__, f"{pathologies.__name__}.")
    found = [getattr(importlib.import_module(module.name), "PATHOLOGY", None) for module in modules]
    return {one.name: one for one in sorted((one for one in found if one is not None), key=lambda one: one.name)}
