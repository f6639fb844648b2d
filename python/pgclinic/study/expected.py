"""How long a study takes, before it is run."""

from __future__ import annotations

from pgclinic.model.study import Profile
from pgclinic.study.run import OVERHEAD_S_GUESS, likely_warm_up_s


def block_s(profile: Profile) -> float:
    """Seconds one block of all arms likely takes."""
    warm_up_s = likely_warm_up_s(profile.warm_up_s, profile.warm_up_ends)
    return sum(seconds + warm_up_s + OVERHEAD_S_GUESS for seconds in profile.measure_s.values())


def expected_s(profile: Profile) -> float:
    """Seconds to the earliest verdict; a noisy machine takes more, up to the budget."""
    return profile.blocks_min * block_s(profile)
