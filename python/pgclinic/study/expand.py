"""Study -> TrialSpecs: the only place where configuration is resolved. Every value that comes out is a literal."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from pgclinic.errors import UnknownNameError
from pgclinic.model.load import LoadSpec, Target
from pgclinic.model.study import Condition, Profile, Study
from pgclinic.model.trial import ServerWanted, TrialSpec

# Filled in by the trial once its server is up; a spec on disk shows that none was known yet.
UNRESOLVED_TARGET = Target(host="", port=0, user="", database="")


@dataclass(frozen=True)
class ArmResolved:
    settings: dict[str, str]
    condition: Condition


def profile_of(study: Study, name: str) -> Profile:
    """The named profile. Raises UnknownNameError."""
    if name not in study.profiles:
        raise UnknownNameError("profile", name, study.profiles, where=study.name)
    return study.profiles[name]


def resolve_arm(study: Study, name: str, extra_settings: Mapping[str, str]) -> ArmResolved:
    """Follow ``builds_on`` down to the first arm; nearer values win, the user's own settings over all."""
    chain = []
    current: str | None = name
    while current is not None:
        chain.append(study.arms[current])
        current = study.arms[current].builds_on
    settings: dict[str, str] = {}
    condition = Condition()
    for arm in reversed(chain):
        settings.update(arm.settings)
        condition = arm.condition if arm.condition is not None else condition
    settings.update(extra_settings)
    return ArmResolved(settings=settings, condition=condition)


def expand(
    study: Study, profile: Profile, *, seed: int, server: ServerWanted, extra_settings: Mapping[str, str]
) -> tuple[tuple[TrialSpec, ...], ...]:
    """All blocks that may run, each one trial of every arm in random order; the same seed gives the same order.

    Both arms of a block get the same load seed, so that they draw the same random rows.
    """
    order = random.Random(seed)
    arms = {name: resolve_arm(study, name, extra_settings) for name in study.arms}
    blocks = []
    number = 0
    for block in range(1, profile.blocks_max + 1):
        names = list(arms)
        order.shuffle(names)
        load_seed = order.getrandbits(48)
        trials = []
        for position, name in enumerate(names, start=1):
            number += 1
            trials.append(
                TrialSpec(
                    number=number,
                    block=block,
                    position=position,
                    arm=name,
                    server=server,
                    settings=arms[name].settings,
                    fill=study.workload.fill,
                    condition=arms[name].condition,
                    load=_load_spec(study, profile, name, load_seed),
                    probe=study.workload.probe,
                )
            )
        blocks.append(tuple(trials))
    return tuple(blocks)


def _load_spec(study: Study, profile: Profile, arm: str, seed: int) -> LoadSpec:
    workload = study.workload
    return LoadSpec(
        target=UNRESOLVED_TARGET,
        scripts=workload.scripts,
        clients=workload.clients,
        threads=workload.threads,
        protocol=workload.protocol,
        warm_up_s=profile.warm_up_s,
        measure_s=profile.measure_s[arm],
        seed=seed,
    )
