"""What ``upgrade`` prints, its page and its Markdown: everything that can change, and nothing at all."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.comparison import comparison
from fixtures.records import run_info
from fixtures.snapshots import Snapshots, page_sections
from fixtures.upgrades import NOTHING, PREFLIGHT, UPGRADE
from pgclinic.model.compare import Comparison
from pgclinic.model.transport import Transport
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.kinds import UPGRADE as SECTIONS
from pgclinic.report.kinds import upgrade_page
from pgclinic.report.markdown import report_markdown
from pgclinic.report.reported import ReportedUpgrade
from pgclinic.report.sections.next.twins import upgrade_next
from pgclinic.report.sections.upgrade.text import preflight_text, upgrade_text
from pgclinic.report.words.answers import answer_sentence, answer_word

PLACES = (("report", "runs/u/report.html"),)


def on_twin(word: CompareWord, ratio: float, low: float | None, high: float | None) -> Comparison:
    """Blocks that say of the original's server time that it is so many times the one before."""
    seen = comparison((1 / ratio,) * 5, "b<0.95a")
    moved = Transport(
        word=word,
        ratio=ratio,
        ci_low=low,
        ci_high=high,
        low=low,
        high=high,
        blocks=5,
        measured_share=0.98,
        untouched_share=0.0,
        outside_share=0.02,
        outside=1,
        by_server=True,
        tps_counts=True,
        sessions=2,
    )
    return replace(seen, word=word, transport=moved)


WHOLE = replace(UPGRADE, comparison=on_twin(CompareWord.SLOWER, 9.76, 6.73, 14.1))


def shown(found: Upgrade) -> ReportedUpgrade:
    return ReportedUpgrade(run_info(), found, "runs/u")


def test_an_upgrade(snapshots: Snapshots) -> None:
    snapshots.check("upgrade", upgrade_text(WHOLE, PLACES, todo=upgrade_next(shown(WHOLE))))
    snapshots.check_page("upgrade_page", page_sections(upgrade_page(shown(WHOLE))))
    snapshots.check("upgrade_markdown", report_markdown(SECTIONS, shown(WHOLE)))


def test_what_is_known_before_anything_runs(snapshots: Snapshots) -> None:
    snapshots.check("upgrade_preflight", preflight_text(PREFLIGHT, "17.11"))


def test_an_upgrade_that_changes_nothing(snapshots: Snapshots) -> None:
    found = replace(NOTHING, comparison=on_twin(CompareWord.NO_DIFFERENCE, 1.0, 0.97, 1.03))
    snapshots.check("upgrade_nothing", upgrade_text(found, todo=upgrade_next(shown(found))))
    snapshots.check_page("upgrade_nothing_page", page_sections(upgrade_page(shown(NOTHING))))


def test_a_threshold_that_nothing_was_measured_for(snapshots: Snapshots) -> None:
    found = replace(NOTHING, unjudged=("b<0.95a", "p99 b>1.1a"), budget_s=50.0)
    snapshots.check("upgrade_unjudged", upgrade_text(found, todo=upgrade_next(shown(found))))
    snapshots.check_page("upgrade_unjudged_page", page_sections(upgrade_page(shown(found))))
    snapshots.check("upgrade_unjudged_markdown", report_markdown(SECTIONS, shown(found)))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (NOTHING, "measured"),
        (WHOLE, "slower"),
        (replace(NOTHING, comparison=on_twin(CompareWord.INCONCLUSIVE, 1.1, None, None)), "inconclusive"),
        (replace(NOTHING, comparison=comparison((1.2,) * 5)), "faster"),
        (replace(NOTHING, comparison=comparison(())), "invalid"),
    ],
)
def test_a_list_of_runs_has_a_word_for_each(found: Upgrade, word: str, snapshots: Snapshots) -> None:
    assert answer_word(found) == word
    snapshots.check(f"upgrade_sentence_{word}", answer_sentence(found))
