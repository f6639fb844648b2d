"""Figures of WAL that detectors compute from settings and names."""

from __future__ import annotations

import pytest

from pgclinic.checkup.memory_sizes import round_down, size_text
from pgclinic.checkup.pathologies.replication.synchronous_standby_missing import standbys_wanted


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("a", 1),
        ("a, b", 1),
        ("*", 1),
        ("2 (a, b, c)", 2),
        ("FIRST 3 (a, b, c)", 3),
        ("any 2(a, b, c)", 2),
        ('"2 (a"', 1),
    ],
)
def test_so_many_standbys_confirm_a_commit(names: str, wanted: int) -> None:
    assert standbys_wanted(names) == wanted


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1, "1MB"),
        (7 << 20, "7MB"),
        ((7 << 20) + 1, "8MB"),
        (1 << 30, "1GB"),
        (1536 << 20, "1536MB"),
        (16 << 30, "16GB"),
    ],
)
def test_sizes_are_as_settings_take_them(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(("size", "rounded"), [(6 << 30, 4 << 30), (4 << 30, 4 << 30), (1000, 1 << 20)])
def test_sizes_are_rounded_down_to_a_power_of_two(size: int, rounded: int) -> None:
    assert round_down(size) == rounded
