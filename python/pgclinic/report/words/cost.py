"""What a run took of the machine, in words."""

from __future__ import annotations

from pgclinic.report.words.figures import count, percent
from pgclinic.samples.machine_cost import CoresUsed


def server_words(cost: CoresUsed) -> str:
    """What the server used, in a few words."""
    if cost.server_cores is None:
        return "server's CPU not visible"
    return f"server used {cost.server_cores:.1f} of {count(cost.cores, 'core')}"


def observers_words(cost: CoresUsed) -> str:
    """All that we do beside the load, and of that what taking samples cost: 0.4 % of one core here, 1 % there."""
    whole = f"{percent(cost.observer_share)} of the machine"
    if cost.sampler_share is None:
        return whole
    words = f"{whole}; sampling {percent(cost.sampler_share)} of one core in the client"
    if cost.sampler_server_share is None:
        return f"{words}, unknown in the server"
    return f"{words}, {percent(cost.sampler_server_share)} in its backend of the server"
