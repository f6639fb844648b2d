"""Which settings of another server may be taken over."""

from __future__ import annotations

import pytest

from pgclinic.settings.catalog import Setting, SettingsCatalog
from pgclinic.settings.portable import portable_settings

MEMORY, FILES = "Resource Usage / Memory", "File Locations"
CATALOG = SettingsCatalog(
    version="18.6",
    major=18,
    settings=tuple(
        Setting(name=name, vartype=vartype, category=category, context="user")
        for name, vartype, category in (
            ("work_mem", "integer", MEMORY),
            ("port", "integer", "Connections"),
            ("DateStyle", "string", "Client"),
            ("archive_command", "string", "Write-Ahead Log / Archiving"),
            ("data_directory", "string", FILES),
            ("wal_block_size", "integer", "Preset Options"),
        )
    ),
)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("work_mem", "64MB", True),
        ("WORK_MEM", "64MB", True),
        ("DateStyle", "ISO", True),
        # Only what is known to be no more than a text is one.
        ("archive_command", "rm -r /", False),
        ("data_directory", "/", False),
        ("wal_block_size", "8192", False),
        ("port", "5432", False),
        ("work_mem", "64\0MB", False),
        # Whoever checks the settings reports a name that nobody knows; an extension's is left out.
        ("work_mme", "1", True),
        ("auto_explain.log_timing", "on", False),
    ],
)
def test_a_setting_is_taken_over_or_left_out(name: str, value: str, *, kept: bool) -> None:
    divided = portable_settings(CATALOG, {name: value})
    assert divided.settings == ({name: value} if kept else {})
    assert divided.left_out == (() if kept else (name,))
