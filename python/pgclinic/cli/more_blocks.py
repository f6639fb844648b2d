"""``--resume RUN --blocks N`` and ``--budget TIME``: how a run is extended beyond its plan."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_budget_s
from pgclinic.errors import UsageError
from pgclinic.experiment.extend import spent, with_blocks, with_budget
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Profile
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.figures import count


@dataclass(frozen=True)
class More:
    """As given on the command line: total blocks of the run, or total time (``+3m``: additional time)."""

    blocks: int | None = None
    budget: str | None = None

    def asked_of(self, info: RunInfo, planned: Profile, done: Sequence[TrialRecord]) -> RunInfo:
        """The run with its new limits; unchanged without options. Raises UsageError."""
        if self.blocks is not None and self.budget is not None:
            raise UsageError("--blocks and --budget are mutually exclusive: one sets the number, the other the time")
        if self.blocks is not None:
            return with_blocks(info, planned, done, self.blocks)
        if self.budget is None:
            return info
        return with_budget(info, planned, done, parse_budget_s(self.budget, spent(done)))


def say_resumed(name: str, run: Path, done: Sequence[TrialRecord], planned: Profile, now: Profile) -> None:
    """Print how many trials are done, and whether the interval changes with the number of blocks."""
    print(f"{name}   {count(len(done), 'trial')} done; resuming {run}", file=sys.stderr)
    if planned.blocks_fixed is not None and now.blocks_fixed is None:
        print(
            f"  the number of blocks was fixed at {planned.blocks_max} and is raised: the interval is now a "
            "confidence sequence, which is wider",
            file=sys.stderr,
        )
