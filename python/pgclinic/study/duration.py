"""How long a study takes, before it is run."""

from __future__ import annotations

from pgclinic.model.study import Profile, WarmUpEnd
from pgclinic.stats.warm_up import LIKELY_S

#: Nobody waits for more blocks than this, however short they are.
BLOCKS_MAX = 1000
#: A number of blocks that is asked for is run whatever time it takes.
NO_BUDGET_S = 7 * 86_400.0
# What a trial takes beyond its load before any has shown it: start, condition, probe, stop.
OVERHEAD_S_GUESS = 1.2
#: Shorter trials have too few transactions for a rate.
MEASURE_S_MIN = 1.0
#: By how much a block may overrun a budget that somebody has named.
OVERRUN_S = 8.0


def block_s(profile: Profile) -> float:
    """Seconds one block of all arms likely takes."""
    warm_up_s = likely_warm_up_s(profile.warm_up_s, profile.warm_up_ends)
    return sum(seconds + warm_up_s + OVERHEAD_S_GUESS for seconds in profile.measure_s.values())


def expected_s(profile: Profile) -> float:
    """Seconds to the earliest verdict; a noisy machine takes more, up to the budget."""
    return profile.blocks_min * block_s(profile)


def likely_warm_up_s(warm_up_s: float, ends: WarmUpEnd) -> float:
    """How long a warm-up is taken for until one has shown it; one that ends by state may be over soon."""
    return warm_up_s if ends is WarmUpEnd.TIME else min(warm_up_s, float(LIKELY_S))
