"""What the bench of the load engine beside pgbench makes of the CPU of processes, without a server."""

from __future__ import annotations

import pytest

from pgbench_side_by_side import Run, Used, mean_ratio, per_transaction


def run(cpu_s: float, transactions: int) -> Run:
    return Run(Used(cpu_s, 1.0, 0), transactions, 1.0, 1.0, 0.0, "pgbench")


def test_cpu_of_the_start_is_subtracted_only_where_it_was_measured() -> None:
    full, start = run(0.5, 100_016), run(0.1, 16)
    assert per_transaction(full, start) == pytest.approx(4.0)
    assert per_transaction(full, None) == pytest.approx(0.5e6 / 100_016)


def test_the_interval_is_that_of_the_ratios_of_each_round_on_the_log_scale() -> None:
    # Ratios 0.9 and 1/0.9: the mean is 1, and with one degree of freedom the limits are 0.9 to the power of 12.7062.
    assert mean_ratio([3.6, 4.0], [4.0, 3.6]) == " mean 1.000x, 95 % CI 0.262 to 3.814"
    assert mean_ratio([2.0, 4.0, 1.0], [4.0, 8.0, 2.0]) == " mean 0.500x, 95 % CI 0.500 to 0.500"


@pytest.mark.parametrize("ours", [[2.0], [2.0, -0.1]])
def test_one_round_or_a_figure_below_zero_has_no_interval(ours: list[float]) -> None:
    assert mean_ratio(ours, [4.0] * len(ours)) == ""
