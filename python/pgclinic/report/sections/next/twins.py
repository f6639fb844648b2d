"""After advise, upgrade and grow: the indexes to create, the statement that needs something, the plan to look at."""

from __future__ import annotations

from pgclinic.model.advise import AdviceWord
from pgclinic.model.upgrade import SettingChangeKind
from pgclinic.report.reported import ReportedAdvice, ReportedGrowth, ReportedUpgrade
from pgclinic.report.sections.advice.text import create_script, says_little
from pgclinic.report.sections.growth.text import growing_statement
from pgclinic.report.sections.next.step import NextStep, with_budget
from pgclinic.report.words.figures import count
from pgclinic.report.words.upgrade import analyze_command, extension_words, fix_words, preflight_rows, short

_LONGER = 4
_CHECKED = ("pgclinic capture twin DSN -o my.twin", "pgclinic twin check my.twin")


def advice_next(one: ReportedAdvice) -> NextStep:
    """The statements that create the advised set, where there is one."""
    advice = one.advice
    longer = (with_budget(one.run.command, _LONGER * max(advice.budget_s, one.run.budget_s)),)
    if advice.word is AdviceWord.NONE and advice.candidates and not advice.measured:
        return NextStep("run it with a larger budget: no candidate was measured in this one", longer)
    if advice.word is AdviceWord.CONTRADICTED:
        return NextStep("create none of them: the whole workload takes longer with them")
    if advice.word is AdviceWord.NONE and says_little(advice):
        return NextStep("find out why the twin does not run most of the workload", _CHECKED)
    if advice.word is AdviceWord.NONE:
        drops = f"; {count(len(advice.drops), 'index')} could be dropped, see below"
        return NextStep(f"create no index{drops if advice.drops else ''}")
    statements = tuple(line for index in advice.indexes for line in create_script(index).splitlines())
    proven = advice.proof is not None and advice.proof.ratio is not None
    words = "create the indexes" if len(advice.indexes) > 1 else "create the index"
    if proven:
        return NextStep(f"{words} with psql", statements, is_sql=True)
    return NextStep(
        f"{words} on a test server first: the whole set was not compared in blocks", statements, is_sql=True
    )


def upgrade_next(one: ReportedUpgrade) -> NextStep:  # noqa: PLR0911  one case each
    """What stops the upgrade, then the statement that becomes slower, then what is to be run after pg_upgrade."""
    found, seen = one.found, one.found.preflight
    stops = [change for change in seen.settings if change.kind is not SettingChangeKind.DEFAULT]
    if stops or seen.objects or seen.statements:
        label, words = next(row for row in preflight_rows(seen, found.after) if row[0] in ("setting", "refused"))
        return NextStep(f"before the upgrade: {label} {words}")
    slower = found.slower
    with_cause = next((each for each in slower if each.cause is not None), None)
    if with_cause is not None and with_cause.cause is not None:
        words = "after the upgrade, set this for the role that runs the slower statement"
        return NextStep(words, tuple(f"{line};" for line in fix_words(with_cause.cause).split("; ")), is_sql=True)
    if slower:
        return NextStep(f"compare the two plans, below, of the statement that becomes slower: {short(slower[0].text)}")
    before_analyze = found.before_analyze
    if before_analyze is not None and before_analyze.statements:
        return NextStep(
            "go ahead with the upgrade, and run this at once after pg_upgrade",
            (analyze_command(before_analyze, found),),
        )
    if seen.extensions:
        return NextStep(f"go ahead with the upgrade; {extension_words(seen.extensions[0], found.after)}")
    if found.comparison is None and found.executions_ratio is None:
        return NextStep("run it with a larger budget: no statement was measured", _longer_upgrade(one))
    return NextStep(f"go ahead with the upgrade: nothing has to be done for {found.after} before or after it")


def _longer_upgrade(one: ReportedUpgrade) -> tuple[str, ...]:
    return (with_budget(one.run.command, _LONGER * one.run.budget_s),) if one.run.budget_s else ()


def growth_next(one: ReportedGrowth) -> NextStep:
    """The statement with the most time at the target among those that grow."""
    found = one.growth
    if found.server_time is None:
        longer = (with_budget(one.run.command, _LONGER * one.run.budget_s),) if one.run.budget_s else ()
        return NextStep("run it with a larger budget: there are too few twins for a forecast", longer)
    first = growing_statement(found)
    if first is None:
        return NextStep("nothing to do: no statement takes longer per call as the tables grow")
    # The answer names the one with most of the time, which mostly is this one.
    which = (
        "the statement above" if first is found.statements[0] else f"the statement that grows most: {short(first.text)}"
    )
    return NextStep(f"test treatments on a twin, and look at the plan of {which}", ("pgclinic checkup --prove DSN",))
