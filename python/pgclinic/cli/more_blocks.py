"""``--resume RUN --blocks N`` and ``--budget TIME``: what a run may take beyond its plan, and what is said of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_budget_s
from pgclinic.errors import UsageError
from pgclinic.model.run import RunInfo
from pgclinic.model.study import Profile
from pgclinic.model.trial import TrialRecord
from pgclinic.study.extend import spent, was_fixed, with_blocks, with_budget
from pgclinic.study.figures import count


@dataclass(frozen=True)
class More:
    """In the user's words: all blocks of the run, or all its time (``+3m``: so much more)."""

    blocks: int | None = None
    budget: str | None = None

    def asked_of(self, info: RunInfo, planned: Profile, done: Sequence[TrialRecord]) -> RunInfo:
        """The run as it is to go on; as it was where nothing is asked for. Raises UsageError."""
        if self.blocks is not None and self.budget is not None:
            raise UsageError("--blocks and --budget are mutually exclusive: one gives the number, the other the time")
        if self.blocks is not None:
            return with_blocks(info, planned, done, self.blocks)
        if self.budget is None:
            return info
        return with_budget(info, planned, done, parse_budget_s(self.budget, spent(done)))


def say_resumed(name: str, run: Path, done: Sequence[TrialRecord], planned: Profile, now: Profile) -> None:
    """What is done already, and where the judgement changes with the number of blocks."""
    print(f"{name}   {count(len(done), 'trial')} done; resuming {run}", file=sys.stderr)
    if was_fixed(planned) and not was_fixed(now):
        print(
            f"  the number of blocks was fixed at {planned.blocks_max} and is raised: the interval is now the "
            "confidence sequence, which stays valid and is wider",
            file=sys.stderr,
        )
