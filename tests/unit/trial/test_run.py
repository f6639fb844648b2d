"""What a trial does when its server cannot be had: a failed record for the arm's faults, an error for everybody's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from fixtures.records import global_counters, trial_spec
from pgclinic.errors import DiskFullError, PgclinicError, ServerStartError, UsageError
from pgclinic.model.trial import TrialOutcome
from pgclinic.trial import run as trial_run
from pgclinic.trial.run import TrialListener, run_trial

SPEC = trial_spec(global_counters(), 1, 1, "free")


def raising(monkeypatch: pytest.MonkeyPatch, error: PgclinicError) -> None:
    @contextmanager
    def server_for(*_: object, **__: object) -> Iterator[NoReturn]:
        raise error
        yield

    monkeypatch.setattr(trial_run, "server_for", server_for)


def test_a_server_that_refuses_to_start_is_the_arms_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ServerStartError("it refused huge pages"))
    record = run_trial(SPEC, TrialListener())
    assert (record.outcome, record.failure) == (TrialOutcome.FAILED, "it refused huge pages")
    assert record.server_version is None


@pytest.mark.parametrize("error", [DiskFullError("no room for the data"), UsageError("no such database")])
def test_a_full_disk_and_wrong_usage_end_the_run(monkeypatch: pytest.MonkeyPatch, error: PgclinicError) -> None:
    raising(monkeypatch, error)
    with pytest.raises(type(error), match="no "):
        run_trial(SPEC, TrialListener())
