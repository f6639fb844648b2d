"""Mechanism counters over the measured time, from samples with known answers."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Counter
from pgclinic.samples.mechanism import mechanism_counters

TPS = 100
MEASURED_S = 10.0


def steady(at_s: float, *, loaded_from_s: float = -3.0, **extra: float) -> Iterable[Sample]:
    """What a server shows at ``at_s`` under a steady load that ends with the measured time.

    Every second 100 transactions: 600 hits, 200 reads, 5,000 bytes of WAL, 50 sequential and 150 index scans, half a
    checkpoint. Two vacuums a second go on after the end.
    """
    loaded_s = min(at_s, MEASURED_S) - loaded_from_s
    ran_s = at_s - loaded_from_s
    commits = extra.get("commits_per_s", TPS) * loaded_s
    yield Sample(
        at_s=at_s,
        view="database",
        rows=({"reset_s": None, "commits": int(commits), "hits": int(600 * loaded_s), "reads": int(200 * loaded_s)},),
    )
    yield Sample(at_s=at_s, view="wal", rows=({"position": int(5000 * loaded_s)},))
    yield Sample(at_s=at_s, view="checkpoints", rows=({"reset_s": 1.0, "timed": 3, "requested": int(ran_s / 2)},))
    yield Sample(
        at_s=at_s,
        view="relations",
        rows=(
            {
                "reset_s": None,
                "autovacuums": int(2 * ran_s),
                "autoanalyzes": int(ran_s),
                "sequential_scans": int(50 * loaded_s),
                "index_scans": int(150 * loaded_s),
            },
        ),
    )


def taken(moments: Iterable[float], **extra: float) -> Samples:
    return Samples(taken=tuple(sample for at_s in moments for sample in steady(at_s, **extra)))


def counters(samples: Samples, *, transactions: int = 1000, **more: float) -> dict[Counter, float]:
    return mechanism_counters(samples, measured_s=MEASURED_S, transactions=transactions, **more)


def test_a_steady_load_gives_its_own_figures() -> None:
    found = counters(taken([-2, -1, *range(1, 13)]), read_calls=3000)
    assert found == {
        Counter.HIT_RATIO: 0.75,
        Counter.BUFFER_HITS_PER_TRANSACTION: 6.0,
        Counter.READ_CALLS_PER_TRANSACTION: 3.0,
        Counter.READ_CALLS_PER_S: 3000 / MEASURED_S,
        Counter.VACUUMS_PER_S: 2.0,
        Counter.ANALYZES_PER_S: 1.0,
        Counter.CHECKPOINT_INTERVAL_S: pytest.approx(2.0, rel=0.2),
        Counter.WAL_BYTES_PER_TRANSACTION: 50.0,
        Counter.SEQUENTIAL_SCAN_SHARE: 0.25,
    }


def test_the_last_sample_before_the_measured_time_is_the_base() -> None:
    """What an earlier sample shows, and a hit ratio of the warm-up, must not count."""
    cold = Sample(at_s=-9, view="database", rows=({"reset_s": None, "commits": -500, "hits": 0, "reads": -90_000},))
    samples = taken([-0.5, 5, 11.2])
    assert counters(Samples(taken=(cold, *samples.taken))) == counters(samples)


def test_commits_of_others_do_not_dilute_the_figures_of_the_load() -> None:
    """Autovacuum and the sampler commit as well: with few transactions that is most of all commits."""
    found = counters(taken([-1, *range(1, 13)], commits_per_s=400))
    assert found[Counter.BUFFER_HITS_PER_TRANSACTION] == pytest.approx(6.0)


def test_counts_that_come_late_are_divided_by_the_commits_that_came_with_them() -> None:
    """A short trial: the sample before it lacks half a second of the warm-up, which the next one has."""

    def database(at_s: float, seen_s: float) -> Sample:
        row = {"reset_s": None, "commits": int(2 * TPS * seen_s), "hits": int(600 * seen_s), "reads": 0}
        return Sample(at_s=at_s, view="database", rows=(row,))

    samples = Samples(taken=(database(-2.1, 0.0), database(-0.1, 0.5), database(2.2, 3.0)))
    late = mechanism_counters(samples, measured_s=1.0, transactions=100, warm_up_transactions=200)
    assert late[Counter.BUFFER_HITS_PER_TRANSACTION] == pytest.approx(6.0)
    by_time = mechanism_counters(samples, measured_s=1.0, transactions=100)
    assert by_time[Counter.BUFFER_HITS_PER_TRANSACTION] > 12.0


def test_commits_of_others_over_the_whole_load_are_known() -> None:
    found = counters(taken([-3, -1, *range(1, 13)], commits_per_s=400), warm_up_transactions=300)
    assert found[Counter.BUFFER_HITS_PER_TRANSACTION] == pytest.approx(6.0)
    assert found[Counter.WAL_BYTES_PER_TRANSACTION] == pytest.approx(50.0), "what is never late is not corrected"


def test_without_a_checkpoint_the_interval_is_the_measured_time() -> None:
    still = tuple(
        Sample(at_s=at_s, view="checkpoints", rows=({"reset_s": 1.0, "timed": 3, "requested": 7},))
        for at_s in (-0.5, 5.0, 11.0)
    )
    assert counters(Samples(taken=still)) == {Counter.CHECKPOINT_INTERVAL_S: MEASURED_S}


def test_what_could_not_be_read_is_left_out() -> None:
    assert counters(Samples()) == {}
    assert counters(taken([-1.0])) == {}
    without = Samples(taken=tuple(one for one in taken([-1, 11.2]).taken if one.view != "relations"))
    assert not {Counter.VACUUMS_PER_S, Counter.ANALYZES_PER_S, Counter.SEQUENTIAL_SCAN_SHARE} & counters(without).keys()


def test_a_load_without_a_transaction_has_nothing_by_the_transaction() -> None:
    found = counters(taken([-1, 11.2]), transactions=0, read_calls=10)
    assert found.keys() == {
        Counter.HIT_RATIO,
        Counter.READ_CALLS_PER_S,
        Counter.VACUUMS_PER_S,
        Counter.ANALYZES_PER_S,
        Counter.CHECKPOINT_INTERVAL_S,
        Counter.SEQUENTIAL_SCAN_SHARE,
    }


def test_samples_that_began_late_are_scaled_to_what_they_saw() -> None:
    found = counters(taken([4, 5, 8, 11.2]))
    assert found[Counter.WAL_BYTES_PER_TRANSACTION] == pytest.approx(50.0)
    assert found[Counter.BUFFER_HITS_PER_TRANSACTION] == pytest.approx(6.0)


def test_samples_all_after_the_end_say_nothing_by_the_transaction() -> None:
    found = counters(taken([10.5, 11.2]))
    assert Counter.WAL_BYTES_PER_TRANSACTION not in found
    assert Counter.HIT_RATIO not in found
