"""Rows that scripts deal are in a run folder once, whatever the number of trials, and come back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.planned import plan_of
from fixtures.records import StudyRun, global_counters, run_info
from pgclinic.errors import RunFailedError
from pgclinic.model.load import Script, ScriptValues
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.trial import TrialRecord
from pgclinic.store.dealt_rows import ROWS_MIN
from pgclinic.store.run_folder import RunFolder, StoredRun, read_run

PLAN = plan_of(global_counters(), global_counters().profiles["quick"], seed=7)


def dealt(count: int) -> ScriptTraffic:
    """One script with so many rows: texts with whatever JSON has to quote, and NULL."""
    rows = tuple((f'row {n} "quoted"', None if n % 3 else "\u2028") for n in range(count))
    values = ScriptValues(name="v", columns=("a", "b"), rows=rows)
    return ScriptTraffic(scripts=(Script(name="s", text="\\\\draw v\nselect :a, :b;", values=(values,)),))


def planned(traffic: ScriptTraffic) -> ExperimentPlan:
    workload = replace(PLAN.study.workload, scripts=traffic.scripts)
    arms = {name: replace(arm, traffic=traffic) for name, arm in PLAN.arms.items()}
    return replace(PLAN, study=replace(PLAN.study, workload=workload), arms=arms)


def sent(record: TrialRecord, traffic: ScriptTraffic) -> TrialRecord:
    return replace(record, spec=replace(record.spec, traffic=traffic))


def written(parent: Path, count: int) -> tuple[Path, ExperimentPlan, tuple[TrialRecord, ...]]:
    traffic = dealt(count)
    plan = planned(traffic)
    trials = tuple(sent(record, traffic) for record in StudyRun().make()[0])
    folder = RunFolder.create(parent, "a-run", run_info(), plan)
    for record in trials:
        folder.add_trial(record)
    return folder.path, plan, trials


def rows_of(stored: StoredRun) -> list[tuple[tuple[str | None, ...], ...]]:
    traffics = [record.spec.traffic for record in stored.trials]
    return [traffic.scripts[0].values[0].rows for traffic in traffics if isinstance(traffic, ScriptTraffic)]


def test_many_rows_are_kept_once_for_all_trials(tmp_path: Path) -> None:
    path, plan, trials = written(tmp_path, 20_000)
    (file,) = (path / "values").iterdir()
    size = file.stat().st_size
    assert size > 400_000
    others = sum(found.stat().st_size for found in path.rglob("*.json") if found != file)
    assert others < size, "plan and trials have none of them"
    stored = read_run(path)
    assert (stored.plan, stored.trials) == (plan, trials)
    first, *more = rows_of(stored)
    assert all(rows is first for rows in more), "they are in memory once"


def test_few_rows_stay_where_they_are(tmp_path: Path) -> None:
    path, plan, trials = written(tmp_path, ROWS_MIN - 1)
    assert not (path / "values").exists()
    stored = read_run(path)
    assert (stored.plan, stored.trials) == (plan, trials)


def test_a_folder_that_is_opened_again_adds_no_second_file(tmp_path: Path) -> None:
    path, _, trials = written(tmp_path, 1_000)
    traffic = dealt(1_000)
    RunFolder(path).add_trial(sent(replace(trials[0], spec=replace(trials[0].spec, number=99)), traffic))
    assert len(list((path / "values").iterdir())) == 1
    assert len(read_run(path).trials) == len(trials) + 1


@pytest.mark.parametrize("name", ["../run.json", "/etc/passwd", "plain.json"])
def test_no_other_file_is_read_for_rows(tmp_path: Path, name: str) -> None:
    path, _, _ = written(tmp_path, 1_000)
    (kept,) = (path / "values").iterdir()
    record = path / "trials" / "2" / "record.json"
    record.write_text(record.read_text(encoding="utf-8").replace(kept.name, name), encoding="utf-8")
    with pytest.raises(RunFailedError, match=r"trials/2/record\.json is damaged: .* is no name of a file with rows"):
        read_run(path)


def test_rows_that_are_gone_or_damaged_are_named(tmp_path: Path) -> None:
    path, _, _ = written(tmp_path, 1_000)
    (kept,) = (path / "values").iterdir()
    kept.write_text("[[1]]", encoding="utf-8")
    with pytest.raises(RunFailedError, match=f"{kept.name} is damaged"):
        read_run(path)
    kept.unlink()
    with pytest.raises(RunFailedError, match=f"cannot read .*{kept.name}"):
        read_run(path)
