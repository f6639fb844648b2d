"""The applications that the benches run, by name; they are those of the tests, whose folder is found from here on."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.application import SETTINGS, Application, at_work
from fixtures.clinic import CLINIC
from fixtures.lab_home import temporary_home
from fixtures.shop import SHOP
from fixtures.tpcc import tpcc_application

__all__ = ["NAMES", "SETTINGS", "Application", "application", "at_work", "temporary_home"]

NAMES = ("shop", "tpcc", "clinic")


def application(name: str, warehouses: int = 1) -> Application:
    """One of ``NAMES``; TPC-C has so many warehouses."""
    return {"shop": SHOP, "tpcc": tpcc_application(warehouses), "clinic": CLINIC}[name]
