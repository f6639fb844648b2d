"""Mechanism counters of one trial, from the samples of the server's views. Pure."""

from __future__ import annotations

from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Counter
from pgclinic.samples.deltas import Growth, Rate, grown

# Beyond this, others than the load commit as well, or a transaction of the load is more than one for the server.
_COMMITS_TO_TRANSACTIONS = (0.8, 1.2)
#: Samples of several views that are this close were asked for together.
_SAME_ROUND_S = 0.05
#: Views of what backends report about once a second; other counts are those of the moment.
_LATE = frozenset((Rate.COMMITS.view, Rate.SEQUENTIAL_SCANS.view))


def mechanism_counters(
    samples: Samples,
    *,
    measured_s: float,
    transactions: int,
    warm_up_transactions: int | None = None,
    read_calls: float | None = None,
) -> dict[Counter, float]:
    """Counters over the measured time, which began at 0 and lasted ``measured_s``; one that cannot be read is left out.

    ``read_calls`` are the read system calls of the server in that time. Samples must be aligned, the first taken before
    0, the last when the statistics have heard of all of the load (``statistics_lag``). With ``warm_up_transactions``,
    those that the load finished before 0, the first sample was taken before the load began.
    """
    span = _Span(samples, measured_s, transactions, warm_up_transactions)
    found: dict[Counter, float | None] = {
        Counter.HIT_RATIO: _share(span.whole(Rate.BUFFER_HITS), span.whole(Rate.BUFFER_READS)),
        Counter.BUFFER_HITS_PER_TRANSACTION: span.hits_per_transaction(),
        Counter.READ_CALLS_PER_TRANSACTION: read_calls / transactions
        if read_calls is not None and transactions
        else None,
        Counter.READ_CALLS_PER_S: read_calls / measured_s if read_calls is not None and measured_s > 0 else None,
        Counter.VACUUMS_PER_S: _rate(span.timely(Rate.VACUUMS)),
        Counter.ANALYZES_PER_S: _rate(span.timely(Rate.ANALYZES)),
        Counter.CHECKPOINT_INTERVAL_S: _interval(span.timely(Rate.CHECKPOINTS), measured_s),
        Counter.WAL_BYTES_PER_TRANSACTION: span.per_transaction(Rate.WAL_BYTES),
        Counter.FULL_PAGE_IMAGES_PER_TRANSACTION: span.per_transaction(Rate.FULL_PAGE_IMAGES),
        Counter.WAL_BUFFERS_FULL_PER_S: _rate(span.timely(Rate.WAL_BUFFERS_FULL)),
        Counter.SEQUENTIAL_SCAN_SHARE: _share(span.whole(Rate.SEQUENTIAL_SCANS), span.whole(Rate.INDEX_SCANS)),
    }
    return {counter: value for counter, value in found.items() if value is not None}


def per_transaction(
    samples: Samples, rate: Rate, *, measured_s: float, transactions: int, warm_up_transactions: int | None = None
) -> float | None:
    """One rate for each transaction of the load, as the counters have it; None where it cannot be read."""
    return _Span(samples, measured_s, transactions, warm_up_transactions).per_transaction(rate)


class _Span:
    """The samples that enclose the measured time, view by view."""

    def __init__(
        self, samples: Samples, measured_s: float, transactions: int, warm_up_transactions: int | None
    ) -> None:
        self._samples = samples
        self._measured_s = measured_s
        self._transactions = transactions
        self._warm_up_transactions = warm_up_transactions

    def whole(self, rate: Rate) -> Growth | None:
        """From the last sample before the measured time to the very last: what comes late is in it."""
        return grown(self._since_begin(rate), rate)

    def timely(self, rate: Rate) -> Growth | None:
        """To the first sample after the end: for what goes on when the load has ended."""
        taken = self._since_begin(rate)
        after = next((at for at, one in enumerate(taken) if one.at_s >= self._measured_s), len(taken) - 1)
        return grown(taken[: after + 1], rate)

    def per_transaction(self, rate: Rate) -> float | None:
        """By the commits that came with it; else the load was the same in the part of the warm-up that the samples
        enclose, which counts in proportion."""
        growth, transactions = self.whole(rate), self._transactions_committed(rate) or self._transactions_seen(rate)
        return growth.amount / transactions if growth is not None and transactions > 0 else None

    def hits_per_transaction(self) -> float | None:
        """By the commits that came with the hits, unless others committed as well."""
        if self._transactions_committed(Rate.BUFFER_HITS):
            return self.per_transaction(Rate.BUFFER_HITS)
        hits, commits = self.whole(Rate.BUFFER_HITS), self.whole(Rate.COMMITS)
        expected = self._transactions_seen(Rate.COMMITS)
        low, high = _COMMITS_TO_TRANSACTIONS
        if hits is not None and commits is not None and 0 < low * expected <= commits.amount <= high * expected:
            return hits.amount / commits.amount
        return self.per_transaction(Rate.BUFFER_HITS)

    def _transactions_committed(self, rate: Rate) -> float | None:
        """How many transactions the commits are that a backend reported along with these counts, up to a second late.

        Over the whole load it is known how many commits a transaction has, those of others included.
        """
        if self._warm_up_transactions is None or rate.view not in _LATE:
            return None
        all_transactions = self._transactions + self._warm_up_transactions
        all_commits, commits = grown(self._samples.of(Rate.COMMITS.view), Rate.COMMITS), self._commits_beside(rate)
        if all_commits is None or commits is None or all_commits.amount <= 0:
            return None
        return commits.amount * all_transactions / all_commits.amount

    def _commits_beside(self, rate: Rate) -> Growth | None:
        """The commits between the first and the last sample of this rate; None where they were not counted then."""
        mine = self._since_begin(rate)
        if not mine:
            return None
        begin_s, end_s = mine[0].at_s - _SAME_ROUND_S, mine[-1].at_s + _SAME_ROUND_S
        commits = [
            sample for sample in self._samples.of(Rate.COMMITS.view) if sample.rows and begin_s <= sample.at_s <= end_s
        ]
        if not commits or commits[0].at_s - begin_s > 2 * _SAME_ROUND_S or end_s - commits[-1].at_s > 2 * _SAME_ROUND_S:
            return None
        return grown(commits, Rate.COMMITS)

    def _transactions_seen(self, rate: Rate) -> float:
        """How many transactions the load finished between the samples; 0 when that cannot be said."""
        taken = self._since_begin(rate)
        if not taken or self._measured_s <= 0:
            return 0.0
        loaded_s = min(self._measured_s, taken[-1].at_s) - taken[0].at_s
        return self._transactions * max(0.0, loaded_s) / self._measured_s

    def _since_begin(self, rate: Rate) -> list[Sample]:
        taken = [sample for sample in self._samples.of(rate.view) if sample.rows]
        before = [at for at, sample in enumerate(taken) if sample.at_s <= 0]
        return taken[before[-1] if before else 0 :]


def _share(part: Growth | None, rest: Growth | None) -> float | None:
    if part is None or rest is None or part.amount + rest.amount <= 0:
        return None
    return part.amount / (part.amount + rest.amount)


def _rate(growth: Growth | None) -> float | None:
    return growth.amount / growth.seconds if growth is not None and growth.seconds > 0 else None


def _interval(checkpoints: Growth | None, measured_s: float) -> float | None:
    """With no checkpoint at all the interval is longer than the time measured."""
    if checkpoints is None:
        return None
    return checkpoints.seconds / checkpoints.amount if checkpoints.amount > 0 else min(measured_s, checkpoints.seconds)
