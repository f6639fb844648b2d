"""What a run is going to do, every value a literal: plan.json. Resumed and judged runs read it and resolve nothing."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.model.dataset import Dataset
from pgclinic.model.doubt import Doubt
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.load import LoadSpec
from pgclinic.model.migration import Migration
from pgclinic.model.record import Record
from pgclinic.model.study import Condition, PagesWanted, Profile, Study, WarmUpEnd
from pgclinic.model.traffic import Traffic
from pgclinic.model.trial import ServerSpec


class ArmSpec(Record):
    """One arm as its trials run it: server x settings x dataset x traffic x condition, and what is read beside.

    ``load`` is the engine's order without an address, scripts or a seed: these are the server's, the traffic's and the
    block's.
    """

    server: ServerSpec
    settings: dict[str, str]
    dataset: Dataset
    traffic: Traffic
    condition: Condition
    load: LoadSpec
    probe: str | None = None
    custom_metrics: dict[str, str] = {}
    pages: PagesWanted | None = None
    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME


class ExperimentPlan(Record):
    """The arms of a run, what is asked of them, and how many blocks there may be.

    ``study`` has what can run on this server and machine: its arms, the claims about them, and the one profile that is
    run. ``left_out`` says what else the study has. ``wants_plans`` is whether the servers log the plans of the load's
    statements, which an open question needs: its answer comes with its cause. ``fidelity`` is how alike the twin that
    all arms run on is to its original, None where they run on something else. ``migration`` is what the statements that
    b adds to it lock. ``blocks_planned`` is the most blocks
    that the run had when it was started, where it was extended since; None where these are still the profile's.
    """

    study: Study
    profile_name: str
    arms: dict[str, ArmSpec]
    seed: int
    left_out: tuple[Doubt, ...] = ()
    wants_plans: bool = False
    fidelity: Fidelity | None = None
    migration: Migration | None = None
    blocks_planned: int | None = None
    format: int = 1

    @property
    def profile(self) -> Profile:
        return self.study.profiles[self.profile_name]

    @property
    def horizon(self) -> int | None:
        """The most blocks that were planned before the first trial, if the run may stop earlier.

        None where their number was fixed, for then nothing was planned beyond it.
        """
        planned = self.blocks_planned or self.profile.blocks_max
        return planned if self.profile.blocks_min < planned else None

    def with_profile(self, profile: Profile) -> ExperimentPlan:
        """The same plan with more blocks, or another budget."""
        return replace(self, study=replace(self.study, profiles={self.profile_name: profile}))
