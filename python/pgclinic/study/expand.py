"""Study -> TrialSpecs: the only place where configuration is resolved. Every value that comes out is a literal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from msgspec.structs import asdict, replace

from pgclinic.errors import UnknownNameError
from pgclinic.model.load import LoadSpec, Target, TpccSpec
from pgclinic.model.study import ArmFile, Condition, Profile, Study, Workload, WorkloadChange
from pgclinic.model.trial import ServerSpec, TrialSpec
from pgclinic.study.block_order import block_order, load_seed

# Filled in by the trial once its server is up; a spec on disk shows that none was known yet.
UNRESOLVED_TARGET = Target(host="", port=0, user="", database="")


@dataclass(frozen=True)
class ArmResolved:
    settings: dict[str, str]
    condition: Condition
    variables: dict[str, str]
    workload: Workload
    server: ServerSpec | None


def profile_of(study: Study, name: str) -> Profile:
    """The named profile. Raises UnknownNameError."""
    if name not in study.profiles:
        raise UnknownNameError("profile", name, study.profiles, where=study.name)
    return study.profiles[name]


def resolve_arm(study: Study, profile: Profile, name: str, extra_settings: Mapping[str, str]) -> ArmResolved:
    """Follow ``builds_on`` down to the first arm; nearer values win, the user's own settings over all."""
    chain = []
    current: str | None = name
    while current is not None:
        chain.append(current)
        current = study.arms[current].builds_on
    settings: dict[str, str] = {}
    condition = Condition()
    variables: dict[str, str] = {}
    workload = study.workload
    server = None
    for link in reversed(chain):
        arm = study.arms[link]
        settings.update(arm.settings | profile.settings.get(link, {}))
        condition = arm.condition if arm.condition is not None else condition
        variables.update(arm.variables)
        workload = _changed(workload, arm.workload)
        server = own_server(arm) or server
    settings.update(extra_settings)
    return ArmResolved(settings=settings, condition=condition, variables=variables, workload=workload, server=server)


def _changed(workload: Workload, change: WorkloadChange | None) -> Workload:
    if change is None:
        return workload
    return replace(workload, **{key: value for key, value in asdict(change).items() if value is not None})


class PlannedBlocks(Sequence[tuple[TrialSpec, ...]]):
    """All blocks that may run. Each is made when it is asked for: a plan of ten million takes no more room than of ten.

    The seed alone decides the order inside a block. Both arms of a block get the same load seed, so that they draw the
    same random rows.
    """

    def __init__(
        self,
        profile: Profile,
        arms: Mapping[str, ArmResolved],
        seed: int,
        server: ServerSpec,
        *,
        wants_plans: bool = False,
    ) -> None:
        self._profile = profile
        self._arms = arms
        self._seed = seed
        self._server = server
        self._wants_plans = wants_plans

    def __len__(self) -> int:
        return self._profile.blocks_max

    @overload
    def __getitem__(self, index: int) -> tuple[TrialSpec, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[TrialSpec, ...], ...]: ...

    def __getitem__(self, index: int | slice) -> tuple[TrialSpec, ...] | tuple[tuple[TrialSpec, ...], ...]:
        chosen = range(1, len(self) + 1)[index]
        return self._block(chosen) if isinstance(chosen, int) else tuple(self._block(block) for block in chosen)

    def _block(self, block: int) -> tuple[TrialSpec, ...]:
        names = block_order(tuple(self._arms), self._seed, block)
        seed = load_seed(self._seed, block)
        return tuple(
            TrialSpec(
                number=(block - 1) * len(names) + position,
                block=block,
                position=position,
                arm=name,
                server=server_of(self._arms[name], self._server),
                settings=self._arms[name].settings,
                fill=self._arms[name].workload.fill,
                condition=self._arms[name].condition,
                load=_load_spec(self._arms[name], self._profile, name, seed),
                probe=self._arms[name].workload.probe,
                gauges=self._arms[name].workload.gauges,
                pages=self._arms[name].workload.pages,
                warm_up_ends=self._profile.warm_up_ends,
                wants_plans=self._wants_plans,
            )
            for position, name in enumerate(names, start=1)
        )


def expand(
    study: Study, profile: Profile, *, seed: int, server: ServerSpec, extra_settings: Mapping[str, str]
) -> PlannedBlocks:
    """All blocks that may run, each one trial of every arm in counterbalanced order."""
    arms = {name: resolve_arm(study, profile, name, extra_settings) for name in study.arms if name in profile.measure_s}
    # A claim names its cause itself; a question is answered with the cause.
    return PlannedBlocks(profile, arms, seed, server, wants_plans=any(claim.open for claim in study.claims))


def server_of(arm: ArmResolved, server: ServerSpec) -> ServerSpec:
    """The arm's own server, or what all the others run on. What may be done to existing ones is the whole run's."""
    if arm.server is None:
        return server
    return replace(arm.server, existing=server.existing, allow_writes=server.allow_writes)


def own_server(arm: ArmFile) -> ServerSpec | None:
    """The server that an arm's file names for it alone."""
    own = ServerSpec(version=arm.version, bindir=arm.bindir, dsn=arm.dsn)
    return own if own != ServerSpec() else None


def _load_spec(arm: ArmResolved, profile: Profile, name: str, seed: int) -> LoadSpec:
    workload = arm.workload
    return LoadSpec(
        target=UNRESOLVED_TARGET,
        scripts=workload.scripts,
        clients=profile.clients or workload.clients,
        threads=profile.threads or workload.threads,
        protocol=workload.protocol,
        warm_up_s=profile.warm_up_s,
        measure_s=profile.measure_s[name],
        seed=seed,
        variables=arm.variables,
        tpcc=_tpcc(workload, profile),
        max_tries=workload.tpcc.max_tries if workload.tpcc is not None else 1,
    )


def _tpcc(workload: Workload, profile: Profile) -> TpccSpec | None:
    tpcc = workload.tpcc
    if tpcc is None or profile.warehouses is None:
        return None
    return TpccSpec(
        warehouses=profile.warehouses, convention=tpcc.convention, isolation=profile.isolation or tpcc.isolation
    )
