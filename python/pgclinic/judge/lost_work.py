"""Interleaved blocks whose transactions were too long for their windows. Pure.

What outlasts its window counts for no arm, so the slower arm loses more and the ratio is biased. Such a block is no
evidence, whatever it says.
"""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.doubt import Doubt, DoubtKind, WorkLost
from pgclinic.model.load import LoadResult
from pgclinic.model.trial import TrialRecord

#: Of an arm's counted time: with more lost the ratio of a block is not believed.
LOST_SHARE_MAX = 0.03
#: Between two transactions a client takes some tens of microseconds: less than one in a hundred of this.
SHORTEST_US = 5_000.0
#: With fewer transactions of each client a sequential trial is counted as it is, and its interval is that of counts.
EACH_MIN = 10


def lost_share(load: LoadResult) -> float:
    """By how much counted work and counted time differ, as a share of that time; 0 where windows were safe.

    Transactions shorter than the guard lose nothing: as many run when counting begins as when it ends. Of longer ones
    the counted time of all clients is compared with the sum of the counted latencies: what outlasts a window counts
    nowhere, and what began in the guard counts whole, so an arm can gain as well as lose. With a pace clients also
    wait for their turn; there it is the share of transactions that ended after their window.
    """
    windows = load.windows
    if windows is None:
        return 0.0
    if load.latency.count == 0:
        return 1.0
    guard_us = windows.guard_s * 1e6
    overrun_us = windows.overrun_us_sum / windows.overran if windows.overran else 0.0
    # Of a transaction that the end of a window cuts at random half lies behind it.
    if load.latency.p99_us <= guard_us and overrun_us <= guard_us / 2:
        return 0.0
    if load.offered is not None:
        ended = load.transactions + windows.overran
        return windows.overran / ended if ended else 1.0
    available_us = load.clients * load.measured_s * 1e6
    return abs(1.0 - load.latency.count * load.latency.mean_us / available_us) if available_us > 0 else 1.0


def worked_share(load: LoadResult) -> float:
    """The work that was counted, as a share of the time that was counted; 1 where that is not known.

    Clients begin together, in every window or once, so transactions of one length end together as well, and all ends
    cut the same part of one off: by it an arm counts too little or too much, in every block alike. In a closed loop
    the sum of the counted latencies is the time that the counted transactions took, whichever part of it lay in the
    counted time, and their number over that time is free of it. Not for transactions so short that the way between
    them counts, and not where some failed, whose time is in no latency.
    """
    is_whole = load.offered is None and not (load.failed or load.retries or load.skipped or load.clients_lost)
    available_us = load.clients * load.measured_s * 1e6
    if not is_whole or available_us <= 0 or load.latency.count == 0 or load.latency.mean_us < SHORTEST_US:
        return 1.0
    share = load.latency.count * load.latency.mean_us / available_us
    if load.windows is not None:
        # Beyond that the block is no evidence, and it is not made one by a correction.
        return min(max(share, 1.0 - LOST_SHARE_MAX), 1.0 + LOST_SHARE_MAX)
    # Two ends cut less than one transaction of each client off; what differs by more does so for another reason.
    each = load.latency.count / load.clients
    return share if each >= EACH_MIN and abs(share - 1.0) <= 1.0 / each else 1.0


def windows_too_short(trials: Sequence[TrialRecord]) -> tuple[Doubt, ...]:
    """The doubt about a run of which interleaved blocks are left out; none where windows were safe."""
    lost = lost_runs(trials)
    if not lost:
        return ()
    worst = max(lost_share(trial.load) for run in lost for trial in run if trial.load is not None)
    return (Doubt(kind=DoubtKind.WINDOWS_TOO_SHORT, share=worst, facts=WorkLost(blocks=len(lost))),)


def lost_runs(trials: Sequence[TrialRecord]) -> tuple[tuple[TrialRecord, ...], ...]:
    """The interleaved runs of blocks in which an arm lost too much, in their order; a block may have run again."""
    return tuple(run for run in _interleaved_runs(trials) if any(_has_lost(trial) for trial in run))


def without_lost_work(trials: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """All trials but those of these runs; what repeated them, in longer windows or sequentially, stays."""
    lost = {trial.spec.number for run in lost_runs(trials) for trial in run}
    return tuple(trial for trial in trials if trial.spec.number not in lost)


def _interleaved_runs(trials: Sequence[TrialRecord]) -> list[tuple[TrialRecord, ...]]:
    """Trials of one block that took turns with each other: each arm once."""
    by_block: dict[int, list[list[TrialRecord]]] = {}
    for trial in sorted(trials, key=lambda trial: trial.spec.number):
        if not _is_interleaved(trial):
            continue
        runs = by_block.setdefault(trial.spec.block, [[]])
        if any(other.spec.arm == trial.spec.arm for other in runs[-1]):
            runs.append([])
        runs[-1].append(trial)
    return [tuple(run) for runs in by_block.values() for run in runs]


def _has_lost(trial: TrialRecord) -> bool:
    return trial.load is not None and lost_share(trial.load) > LOST_SHARE_MAX


def _is_interleaved(trial: TrialRecord) -> bool:
    return trial.load is not None and trial.load.windows is not None
