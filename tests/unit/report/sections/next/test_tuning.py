"""What to do after an assay, a search or a bisection follows from its answer."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.records import run_info
from fixtures.tuning import ASSAY, BISECT, SEARCH, plan
from pgclinic.model.tuning import Aim, Assay, AssayWord, Bisect, BisectWord, Search
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.sections.next.tuning import tuning_next


def after(found: Assay | Search | Bisect) -> NextStep:
    return tuning_next(ReportedTuning(run_info(budget_s=75.0), plan(), found, "runs/r"))


def test_settings_that_slow_down_go_back_to_the_base() -> None:
    step = after(ASSAY)
    assert step.is_sql
    chosen = [one for one in ASSAY.carriers if not ASSAY.smallest or one.setting in ASSAY.smallest]
    assert len(step.commands) == len(chosen) + 1
    for one, line in zip(chosen, step.commands, strict=False):
        assert one.setting in line
        assert (str(one.base_value) in line) == (one.base_value is not None)
        assert one.value not in line.partition(one.setting)[2]


def test_an_open_assay_goes_on_and_a_flat_one_changes_nothing() -> None:
    step = after(replace(ASSAY, word=AssayWord.INCONCLUSIVE, carriers=()))
    assert step.commands == ("pgclinic assay --resume runs/r --budget 5m",)
    assert after(replace(ASSAY, word=AssayWord.NO_DIFFERENCE, carriers=())).commands == ()
    assert after(replace(ASSAY, word=AssayWord.REFUSED, refusal="no")).words.startswith("correct the settings")


def test_a_search_sets_what_is_fastest_and_never_what_is_slowest() -> None:
    best = replace(SEARCH, aim=Aim.BEST, rule=None)
    lines = after(best).commands
    assert [line for line in lines if line.startswith("alter system set")]
    assert len(lines) == len(SEARCH.settings) + 1
    assert after(replace(SEARCH, aim=Aim.WORST)).commands == ("pgclinic checkup DSN",)
    assert after(replace(SEARCH, effect=None)).commands == ("pgclinic search --resume runs/r --budget 5m",)


def test_a_change_between_releases_is_measured_on_the_own_database() -> None:
    change = max(BISECT.changes, key=lambda each: abs(1.0 - each.effect.ratio))
    major = change.after.partition(".")[0]
    assert after(replace(BISECT, changes=(replace(change, neighbours=True),))).commands == (
        f"pgclinic upgrade DSN --to {major}",
    )
    unknown = after(replace(BISECT, changes=(replace(change, neighbours=False),)))
    assert unknown.commands == ("pgclinic bisect --resume runs/r --budget 5m",)
    same = after(replace(BISECT, word=BisectWord.NO_CHANGE, changes=(), undecided=()))
    assert same.commands == ()
    assert "5 %" in same.words
    undecided = after(replace(BISECT, word=BisectWord.INCONCLUSIVE, changes=(), undecided=(("13", "14"),)))
    assert "13 and 14" in undecided.words
