"""Values between one that works and one that does not."""

from __future__ import annotations

import pytest

from pgclinic.settings.catalog import Setting, SettingsCatalog
from pgclinic.tune.nearer import value_between

CATALOG = SettingsCatalog(
    version="18.6",
    major=18,
    settings=(
        Setting(name="buffers", context="postmaster", vartype="integer", category="", boot_val="16384", unit="8kB"),
        Setting(name="cost", context="user", vartype="real", category="", boot_val="4"),
        Setting(name="switch", context="user", vartype="bool", category="", boot_val="on"),
    ),
)


@pytest.mark.parametrize(
    ("name", "works", "fails", "between"),
    [
        ("buffers", None, "16", "512"),
        ("buffers", "4MB", "16", "91"),
        ("buffers", "17", "16", None),
        ("buffers", "0", "16", "8"),
        ("cost", None, "1e300", repr((4e300) ** 0.5)),
        ("switch", None, "off", None),
        ("unknown", None, "1", None),
        ("buffers", None, "many", None),
    ],
)
def test_half_the_way_by_ratio(name: str, works: str | None, fails: str, between: str | None) -> None:
    assert value_between(CATALOG, name, works, fails) == between
