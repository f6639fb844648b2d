"""A warm-up that ends by state, on a real server: it is as short as it may be, or says that it was too short."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.statements import SETTINGS, trial_spec
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.run import Second
from pgclinic.model.study import Condition, WarmUpEnd
from pgclinic.model.trial import TrialOutcome
from pgclinic.trial.run import TrialListener, run_trial

LONGEST_S = 30.0


@pytest.mark.drawn(0.2)
def test_a_warm_up_ends_when_the_server_has_come_to_rest() -> None:
    spec = trial_spec("18", SETTINGS, Condition())
    spec = replace(spec, load=replace(spec.load, warm_up_s=LONGEST_S, measure_s=2.0), warm_up_ends=WarmUpEnd.STEADY)
    seconds: list[Second] = []
    record = run_trial(spec, TrialListener(on_second=seconds.append))
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None
    # Two bins of 5 s are the fewest that can agree, and the end is told a second ahead.
    assert 11.0 <= record.load.warm_up_s <= LONGEST_S
    assert record.load.warm_up_s == int(record.load.warm_up_s)
    if record.load.warm_up_s < LONGEST_S:
        assert DoubtKind.NO_STEADY_STATE not in {doubt.kind for doubt in record.doubts}
    assert record.load.measured_s == 2.0
    assert [second.second for second in seconds] == [0, 1]
    assert record.load.warm_up_transactions > record.load.transactions
