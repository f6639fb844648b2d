"""The flush rate of a directory's disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.lab.flush_rate import flush_rate


def test_it_ends_by_its_limit_or_after_two_flushes_and_leaves_no_file(tmp_path: Path) -> None:
    rate = flush_rate(tmp_path, limit_s=0.0)
    assert rate.flushes == 2
    longer = flush_rate(tmp_path, limit_s=0.05)
    assert 2 <= longer.flushes <= 5000
    assert 0 < longer.flush_us_p50 <= longer.flush_us_p90
    assert longer.flushes_per_s == pytest.approx(longer.flushes / longer.elapsed_s)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        flush_rate(tmp_path / "none")
