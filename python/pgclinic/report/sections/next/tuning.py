"""After an assay, a search or a bisection: which settings to change, which release to look at, or a longer run."""

from __future__ import annotations

from pgclinic.model.tuning import Aim, Assay, AssayWord, Bisect, BisectWord, Search
from pgclinic.model.version import parse_version
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.next.step import NextStep, resumed, setting_statements
from pgclinic.report.words.figures import count, percent

#: A longer run has this times the budget.
_LONGER = 4


def tuning_next(one: ReportedTuning) -> NextStep:
    """What to do after an assay, a search or a bisection."""
    match one.found:
        case Assay():
            return _assay(one, one.found)
        case Search():
            return _search(one, one.found)
        case Bisect():
            return _bisect(one, one.found)


def _longer(one: ReportedTuning, verb: str) -> tuple[str, ...]:
    return (resumed(verb, one.folder, _LONGER * one.run.budget_s),)


def _assay(one: ReportedTuning, found: Assay) -> NextStep:
    if found.word is AssayWord.REFUSED:
        return NextStep("correct the settings that the server refuses, then run it again")
    if found.word is AssayWord.INCONCLUSIVE:
        ran = f"{count(found.blocks, 'block')} leave open whether the settings change anything"
        return NextStep(f"resume it with a larger budget: {ran}", _longer(one, "assay"))
    if found.word is AssayWord.NO_DIFFERENCE:
        return NextStep("leave the settings as they are: together they change nothing that matters here")
    chosen = [carrier for carrier in found.carriers if carrier.setting in (found.smallest or (carrier.setting,))]
    if not chosen:
        return NextStep(
            "resume it with a larger budget: no single setting is shown to carry it yet", _longer(one, "assay")
        )
    share = f" ({percent(found.keeps)} of the effect)" if found.keeps is not None and found.smallest else ""
    names = ", ".join(each.setting for each in chosen)
    if found.word is AssayWord.SLOWER:
        words = f"set {names} back to {'its value' if len(chosen) == 1 else 'their values'} of the base{share}"
        return NextStep(words, setting_statements({each.setting: each.base_value for each in chosen}), is_sql=True)
    words = f"set {names} on the server{share}"
    return NextStep(words, setting_statements({each.setting: each.value for each in chosen}), is_sql=True)


def _search(one: ReportedTuning, found: Search) -> NextStep:
    if not found.settings or found.effect is None:
        why = "none of the values that were tried is confirmed"
        return NextStep(f"resume it with a larger budget: {why}", _longer(one, "search"))
    if found.aim is Aim.WORST:
        return NextStep("find out whether a server of yours has such values", ("pgclinic checkup DSN",))
    if found.rule is not None and not found.rule.passed:
        return NextStep("do not use this configuration: it does not keep the rule")
    settings: dict[str, str | None] = dict(found.settings)
    return NextStep("set these on a test server first, then on your own", setting_statements(settings), is_sql=True)


def _bisect(one: ReportedTuning, found: Bisect) -> NextStep:
    if found.word is BisectWord.INCONCLUSIVE or (found.undecided and not found.changes):
        pairs = ", ".join(f"{before} and {after}" for before, after in found.undecided)
        why = f"{pairs} do not differ clearly yet" if pairs else "the releases are not decided yet"
        return NextStep(f"resume it with a larger budget: {why}", _longer(one, "bisect"))
    if not found.changes:
        return NextStep(
            f"choose any of these releases: for this workload they differ by {percent(found.margin)} at most"
        )
    change = max(found.changes, key=lambda each: abs(1.0 - each.effect.ratio))
    if not change.neighbours:
        why = f"the release between {change.before} and {change.after} is not found yet"
        return NextStep(f"resume it with a larger budget: {why}", _longer(one, "bisect"))
    major = parse_version(change.after).branch
    words = f"before you move to {major}, measure each statement of your own database on it"
    return NextStep(words, (f"pgclinic upgrade DSN --to {major}",))
