"""What an experiment writes of its stages: a page in another process knows from it where the run stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fixtures.kept_runs import PLAN
from fixtures.records import run_info
from pgclinic.experiment.budget import Budget
from pgclinic.experiment.execute import Listener, execute
from pgclinic.experiment.plan import planned_trials
from pgclinic.experiment.progress import ProgressView
from pgclinic.fleet.here import BlockListener, stage_of
from pgclinic.model.block import BlockRecord, BlockSpec
from pgclinic.model.event import Event, StageReached
from pgclinic.model.progress import Progress
from pgclinic.model.trial import TrialRecord
from pgclinic.store.run_folder import RunFolder, read_lines


class OneBlock:
    """A plan of a single block."""

    def __init__(self) -> None:
        self._blocks = [BlockSpec(number=1, trials=planned_trials(PLAN, 1))]

    def next_block(self, records: Sequence[TrialRecord], running: Sequence[int] = ()) -> BlockSpec | None:
        return self._blocks.pop() if self._blocks else None


class Stages:
    """A fleet whose trials reach one stage and no further."""

    capacity = 1

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        for spec in block.trials:
            listener.on_event(stage_of(spec, "filling"))
        return BlockRecord(spec=block, trials=())

    def stop(self) -> None: ...


def test_a_stage_is_stored_with_the_progress_that_the_terminal_shows(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run", run_info(), PLAN)
    shown: list[Progress] = []
    listener = Listener(on_progress=shown.append)
    execute(OneBlock(), Stages(), folder, listener, ProgressView(Budget(PLAN)))
    events = [event for event in read_lines(folder.path / "events.jsonl", Event) if isinstance(event, StageReached)]
    assert [event.progress for event in events] == shown
    assert [event.arm for event in events] == [progress.arm for progress in shown]
    assert all(progress.left_s for progress in shown)
