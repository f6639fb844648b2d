"""``pgclinic study judge``: what a run folder holds is judged again, whichever command made it."""

from __future__ import annotations

from pathlib import Path

from pgclinic.cli.bench_end import judge_bench
from pgclinic.cli.compare import AnswerOptions
from pgclinic.cli.compare_end import answer_of_run, finish_comparison
from pgclinic.cli.study_end import finish_study, say_strange, worst_exit_code
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.experiment.extend import extended
from pgclinic.experiment.road import judge_stored
from pgclinic.experiment.stored import plan_of
from pgclinic.model.run import RunKind
from pgclinic.store.run_folder import RunFolder, read_run


def judge_run(path: Path, *, as_json: bool) -> int:
    """Judge the trials of a run again, write its report again, and return the exit code."""
    stored = read_run(path)
    say_strange(stored)
    kind = stored.info.kind
    if kind == RunKind.BENCH:
        return judge_bench(stored, as_json=as_json)
    if kind in (RunKind.ASSAY, RunKind.SEARCH, RunKind.BISECT):
        raise UsageError(
            f"{path} is the run of pgclinic {kind.value}",
            hint=f"its trials are judged again by pgclinic {kind.value} --resume {path}",
        )
    plan = extended(plan_of(stored), stored.info)
    if not plan.study.questions:
        raise RunFailedError(
            f"{path}: no claim of {plan.study.name} can be judged with the server and machine of that run"
        )
    verdict, folder = judge_stored(stored, plan), RunFolder(path)
    if kind == RunKind.COMPARE:
        options = answer_of_run(AnswerOptions(as_json=as_json), stored.info)
        return finish_comparison(folder, plan, verdict, options, must_store=False)
    finish_study(folder, plan.study, verdict, as_json=as_json, must_store=False)
    return worst_exit_code([verdict])
