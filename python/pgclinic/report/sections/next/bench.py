"""After a bench: what makes its figure doubtful, or a comparison, as one load has no interval."""

from __future__ import annotations

import shlex

from pgclinic.load.engine import builtin_scripts
from pgclinic.model.bench import BenchResult
from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord
from pgclinic.report.sections.next.step import TWIN_FILE, NextStep
from pgclinic.report.words.doubts import doubt_words

_CHANGE = ("--b", "set:NAME=VALUE")


def bench_next(run: RunInfo, result: BenchResult, trial: TrialRecord) -> NextStep:
    """What to do after a bench that was observed."""
    if trial.doubts:
        return NextStep(doubt_words(trial.doubts[0]).advice, (shlex.join(run.command),))
    words = "compare one change with this load: one load has no interval, so it cannot show what a change does"
    return NextStep(words, _comparison(result))


def _comparison(result: BenchResult) -> tuple[str, ...]:
    """The comparison of one change under the same load; on a twin where the load needs the user's own tables."""
    clients = str(result.options.clients)
    if result.tpcc is not None:
        warehouses = str(result.scale)
        return (shlex.join(["pgclinic", "compare", *_CHANGE, "--tpcc", "--warehouses", warehouses, "-c", clients]),)
    known = {one.description: one.name for one in builtin_scripts()}
    scripts = [known.get(one.name) for one in result.options.scripts]
    if not scripts or None in scripts:
        on_twin = ["pgclinic", "compare", *_CHANGE, "--twin", TWIN_FILE]
        return (f"pgclinic capture twin DSN -o {TWIN_FILE}", shlex.join(on_twin))
    named = [word for name in scripts for word in ("--script", f"builtin:{name}")]
    return (shlex.join(["pgclinic", "compare", *_CHANGE, *named, "-s", str(result.scale), "-c", clients]),)
