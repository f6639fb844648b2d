"""Where the load of a trial waits for the loads of its block: nowhere, or before and after an interleaved one."""

from __future__ import annotations

from typing import Protocol

from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.resting import RestingUse
from pgclinic.model.trial import CpuUse


class Meeting(Protocol):
    """What a trial asks on its way from a server that is up to a load that is over, in the order of the methods."""

    def begin(self, load: LoadSpec, postmaster: int | None) -> LoadSpec:
        """Wait until every arm is ready, and give the load its windows. Raises RunFailedError if an arm failed."""
        ...

    @property
    def neighbours(self) -> tuple[int, ...]:
        """The postmasters of the other servers that are up for this block, as far as they are visible."""
        ...

    def should_stop(self) -> bool:
        """Whether the load is of no use any more."""
        ...

    def ended(self) -> None:
        """Wait until all loads are over. Raises RunFailedError if one of them failed."""
        ...

    def own_part(self, cpu: CpuUse, load: LoadResult) -> CpuUse:
        """The arm's own part of the block's CPU and time."""
        ...

    def resting(self) -> RestingUse | None:
        """What the server used in the windows of the others."""
        ...


class Alone:
    """The meeting of a trial that has the machine to itself."""

    neighbours: tuple[int, ...] = ()

    def begin(self, load: LoadSpec, postmaster: int | None) -> LoadSpec:
        return load

    def should_stop(self) -> bool:
        return False

    def ended(self) -> None:
        return

    def own_part(self, cpu: CpuUse, load: LoadResult) -> CpuUse:
        return cpu

    def resting(self) -> RestingUse | None:
        return None
