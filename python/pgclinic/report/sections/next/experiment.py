"""After a study or a comparison: more blocks where they would decide it, else what its answer asks for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pgclinic.checkup.catalog import catalog
from pgclinic.experiment.extend import blocks_that_decide, needed_by
from pgclinic.model.compare import Comparison
from pgclinic.model.dataset import SqlDataset, TpccDataset
from pgclinic.model.doubt import Doubt
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.tuning import Risk
from pgclinic.model.verdict import Interval, InvalidReason
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.next.step import TWIN_FILE, NextStep, more_command, setting_statements
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, span
from pgclinic.report.words.refusals import refusal_words
from pgclinic.report.words.workload import is_pgbench_tables
from pgclinic.study.read import shipped_studies
from pgclinic.tune.prior import prior

_A, _B = "a", "b"
_SHOWN = frozenset(
    (VerdictWord.REPLICATED, VerdictWord.CONFIRMED, VerdictWord.REPLICATED_IN_DIRECTION),
)
_FULL = "full"
#: Options of ``compare`` that say what the arms are; each takes a value.
_ARMS = ("--a", "--b", "--from", "--set")


def study_next(one: ReportedStudy) -> NextStep:
    """What to do after a study, or a comparison."""
    if one.comparison is not None:
        return comparison_next(one, one.comparison)
    word, verdict = one.verdict.headline.word, one.verdict
    if word is VerdictWord.INVALID:
        return _invalid(one, verdict.headline.invalid_because, verdict.doubts, repeat_study(one))
    full = _full_profile(one)
    if word is VerdictWord.INCONCLUSIVE:
        blocks = blocks_that_decide(needed_by(verdict), one.trials)
        if blocks is not None:
            return _more_blocks("study run", one.folder, blocks, verdict.headline.interval)
        more = "run the full profile, which measures longer" if full else "leave it open"
        return NextStep(f"{more}: more blocks are not expected to decide it", full)
    return _shown(one, full) if word in _SHOWN else _not_shown(full)


def _full_profile(one: ReportedStudy) -> tuple[str, ...]:
    """The command that runs the published size; empty where that ran, or the study may have none."""
    if one.run.profile == _FULL or one.study.name not in shipped_studies():
        return ()
    return (shlex.join(["pgclinic", "study", "run", one.study.name, f"--{_FULL}"]),)


def _shown(one: ReportedStudy, full: tuple[str, ...]) -> NextStep:
    if one.study.name in {pathology.study for pathology in catalog().values()}:
        return NextStep("find out whether your own server has this problem", ("pgclinic checkup DSN",))
    if full:
        return NextStep("make sure with the full profile, which measures longer", full)
    return NextStep("nothing to repeat: the effect shows here; expect it on servers and workloads like this one")


def _not_shown(full: tuple[str, ...]) -> NextStep:
    if full:
        return NextStep("make sure with the full profile before you reject the claim", full)
    return NextStep("do not act on the claim on servers like this one: its effect does not show here")


def comparison_next(one: ReportedStudy, comparison: Comparison) -> NextStep:  # noqa: PLR0911  one case each
    word = comparison.word
    if word is CompareWord.INVALID:
        return _invalid(one, comparison.invalid_because, comparison.doubts, shlex.join(one.run.command))
    if word is CompareWord.INCONCLUSIVE:
        blocks = blocks_to_decide(comparison, one.trials)
        if blocks is not None:
            return _more_blocks("compare", one.folder, blocks, comparison.interval)
        return NextStep("keep a: b shows no clear difference, and more blocks are not expected to decide it")
    if word is CompareWord.NO_DIFFERENCE:
        return NextStep("keep a: b changes nothing that matters for this workload")
    if word is CompareWord.SLOWER:
        return NextStep("keep a: b is slower with this workload")
    if not is_own_data(one):
        arms = arm_words(one.run.command)
        on_twin = (
            f"pgclinic capture twin DSN -o {TWIN_FILE}",
            shlex.join(["pgclinic", "compare", "--twin", TWIN_FILE, *arms]),
        )
        words = "before you choose b, repeat it on a twin of your own database: these are test data"
        return NextStep(f"{words}{_risk(one)}", on_twin if arms else on_twin[:1])
    settings = changed_settings(one.trials)
    return NextStep(f"choose b{_risk(one)}", setting_statements(settings) if settings else (), is_sql=True)


def blocks_to_decide(comparison: Comparison, trials: Sequence[TrialRecord]) -> int | None:
    """The total number of blocks that would answer the question; None if it is answered, or more would not help."""
    is_open = comparison.word is CompareWord.INCONCLUSIVE
    return blocks_that_decide((comparison.blocks_needed,), trials) if is_open else None


def repeat_study(one: ReportedStudy) -> str:
    """The command that runs the same profile again."""
    option = profile_words(one.run.profile) if one.run.profile else ()
    return shlex.join(["pgclinic", "study", "run", one.run.name, *option])


def profile_words(name: str) -> tuple[str, ...]:
    """How the command line asks for a profile: two have an option of their own."""
    return (f"--{name}",) if name in ("quick", "full") else ("--profile", name)


def is_own_data(one: ReportedStudy) -> bool:
    """Whether the data are the user's, and not those that pgbench or TPC-C bring."""
    dataset = next((trial.spec.dataset for trial in one.trials), None)
    if dataset is None:
        return False
    if isinstance(dataset, SqlDataset):
        return not is_pgbench_tables(dataset.statements) and bool(dataset.statements.strip())
    return not isinstance(dataset, TpccDataset)


def arm_words(command: Sequence[str]) -> tuple[str, ...]:
    """The options of a comparison that say what its arms are, as they were written."""
    words: list[str] = []
    for at, word in enumerate(command):
        if word in _ARMS and at + 1 < len(command):
            words += [word, command[at + 1]]
        elif word.partition("=")[0] in _ARMS and "=" in word:
            words.append(word)
    return tuple(words)


def changed_settings(trials: Sequence[TrialRecord]) -> dict[str, str | None]:
    """Settings that make arm a into arm b; None for a default, empty where the arms differ in more than settings."""
    a, b = (next((one.spec for one in trials if one.spec.arm == name), None) for name in (_A, _B))
    if a is None or b is None or a.server != b.server or a.dataset != b.dataset or a.traffic != b.traffic:
        return {}
    if a.condition != b.condition:
        return {}
    names = sorted({*a.settings, *b.settings})
    return {name: b.settings.get(name) for name in names if a.settings.get(name) != b.settings.get(name)}


_RISKS = {
    Risk.DURABILITY: "it may lose commits in a crash",
    Risk.KILLS_WORK: "it may keep clients from working",
    Risk.FILLS_DISK: "it may fill the disk",
}


def _risk(one: ReportedStudy) -> str:
    """What a setting of b risks besides speed, empty without such a setting."""
    known = prior()
    risks = {
        name: words for name in changed_settings(one.trials) if (words := _RISKS.get(known.risk_of(name))) is not None
    }
    return "".join(f"; {name} has a risk: {words}" for name, words in risks.items())


def _more_blocks(verb: str, folder: str, blocks: int, interval: Interval | None) -> NextStep:
    """With the reason why it is undecided."""
    if interval is None:
        why = "none can be used so far"
    elif interval.low is None or interval.high is None:
        why = f"{count(interval.blocks, 'block')} give no interval yet"
    else:
        why = f"the interval, {span((interval.low, interval.high))}, is still too wide to decide it"
    return NextStep(f"run more blocks, {blocks} in all: {why}", (more_command(verb, folder, blocks),))


def _invalid(one: ReportedStudy, because: InvalidReason | None, doubts: Sequence[Doubt], again: str) -> NextStep:
    seen = one.calibration or (one.comparison.calibration if one.comparison is not None else None)
    refused = seen.refusal if seen is not None else None
    if because is InvalidReason.CALIBRATION_REFUSED and refused is not None:
        return NextStep(refusal_words(refused).advice, (again,))
    if because is InvalidReason.TWIN_UNLIKE:
        return NextStep("do not use this answer: see below which statements the twin does not reproduce")
    failure = next((trial.failure for trial in one.trials if trial.outcome is TrialOutcome.FAILED), None)
    if failure is not None:
        return NextStep(f"fix what made the trials fail, then run it again: {failure}", (again,))
    if doubts:
        return NextStep(doubt_words(doubts[0]).advice, (again,))
    if because is InvalidReason.CAUSE_NOT_SHOWN:
        return NextStep("do not use the figure: the cause that the claim names did not show")
    return NextStep("run it again: no block of this run can be used", (again,))
