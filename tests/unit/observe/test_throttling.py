"""The clock of the cores and the CPU limit of a control group, from files as kernels write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.observe.throttling import first_and_last_third, megahertz, stopped_s


def test_the_clock_is_the_mean_over_all_cores(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\ncpu MHz\t\t: 3000.000\nprocessor\t: 1\ncpu MHz\t\t: 2000.500\n")
    assert megahertz(file) == pytest.approx(2500.25)
    file.write_text("processor\t: 0\nBogoMIPS\t: 50.00\n")
    assert megahertz(file) is None
    assert megahertz(tmp_path / "none") is None


def test_early_and_late() -> None:
    assert first_and_last_third([3000.0, 3000.0, 2900.0, 2500.0, 2400.0, 2200.0]) == (3000.0, 2300.0)
    assert first_and_last_third([3000.0, 2000.0]) is None


@pytest.mark.parametrize(
    ("group", "place", "content", "seconds"),
    [
        ("0::/user/shell\n", "user/shell", "usage_usec 9\nthrottled_usec 2500000\n", 2.5),
        ("0::/docker/abc\n", ".", "nr_periods 4\nthrottled_usec 500000\n", 0.5),
        (
            "4:memory:/a\n3:cpu,cpuacct:/job\n0::/\n",
            "cpu,cpuacct/job",
            "nr_periods 1\nthrottled_time 1500000000\n",
            1.5,
        ),
        ("3:cpu:/\n", "cpu", "nr_throttled 0\nthrottled_time 0\n", 0.0),
        ("3:cpuacct:/\n", "cpuacct", "throttled_time 5\n", None),
        ("0::/\n", ".", "usage_usec 9\n", None),
    ],
)
def test_a_limit_is_read_from_either_version_of_control_groups(
    tmp_path: Path, group: str, place: str, content: str, seconds: float | None
) -> None:
    groups, mounted = tmp_path / "cgroup", tmp_path / "fs"
    groups.write_text(group)
    (mounted / place).mkdir(parents=True)
    (mounted / place / "cpu.stat").write_text(content)
    assert stopped_s(groups, mounted) == seconds


def test_without_control_groups_nothing_is_known(tmp_path: Path) -> None:
    assert stopped_s(tmp_path / "none", tmp_path) is None
