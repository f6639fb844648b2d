"""What a run took of the machine, as means over its trials. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgclinic.model.sample import Samples
from pgclinic.model.trial import TrialRecord


@dataclass(frozen=True)
class CoresUsed:
    """Cores used on average by the server, the load engine, and everything else; shares are of the whole machine.

    ``server_cores`` is None where the server's processes were not visible; everything else may then be the server.

    ``pressure_share`` is the mean share of time in which something waited for a CPU, None where it is not known.
    ``sampler_share`` and ``sampler_server_share`` are what taking samples cost on our side and in the server, of one
    core; None where nothing was sampled, or where it could not be read.
    """

    cores: int
    server_cores: float | None
    client_cores: float
    observer_share: float
    others_cores: float
    pressure_share: float | None
    sampler_share: float | None = None
    sampler_server_share: float | None = None


def cost_of(trials: Sequence[TrialRecord]) -> CoresUsed | None:
    """The mean over all trials that recorded their CPU use, weighted by time; None where none did."""
    uses = [trial.cpu for trial in trials if trial.cpu is not None and trial.cpu.elapsed_s > 0]
    if not uses:
        return None
    elapsed = sum(use.elapsed_s for use in uses)
    cores = uses[0].cores
    seen = [use.server_s for use in uses]
    known = [use for use in uses if use.pressure_share is not None]
    pressure = sum((use.pressure_share or 0.0) * use.elapsed_s for use in known)
    return CoresUsed(
        cores=cores,
        server_cores=None if None in seen else sum(one or 0.0 for one in seen) / elapsed,
        client_cores=sum(use.client_s for use in uses) / elapsed,
        observer_share=sum(use.observer_s for use in uses) / elapsed / cores,
        others_cores=sum(use.others_s for use in uses) / elapsed,
        pressure_share=pressure / sum(use.elapsed_s for use in known) if known else None,
        sampler_share=_share_of_a_core(trials, lambda samples: samples.cost_s),
        sampler_server_share=_share_of_a_core(trials, lambda samples: samples.server_cost_s),
    )


def _share_of_a_core(trials: Sequence[TrialRecord], cost_of_samples: Callable[[Samples], float | None]) -> float | None:
    """The cost over the time of all trials that were sampled and have it."""
    known = [
        (cost, trial.cpu.elapsed_s)
        for trial in trials
        if trial.cpu is not None and trial.samples.taken and (cost := cost_of_samples(trial.samples)) is not None
    ]
    elapsed_s = sum(elapsed for _, elapsed in known)
    return sum(cost for cost, _ in known) / elapsed_s if elapsed_s > 0 else None
