"""What a claim compares, drawn in its own unit; which charts a page has; and links inside texts."""

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, global_counters, run_info
from pgclinic.model.study import Claim, Published, Study
from pgclinic.report.kinds import study_page
from pgclinic.report.parts.links import linked
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import claim_view
from pgclinic.report.sections.measure.picture import MeasurePicture, measure_picture

STUDY = global_counters()
RATIOS = (0.60, 0.61, 0.59, 0.605, 0.595)
PAGES: Claim = replace(
    STUDY.claims[0],
    measure="probe_pages",
    published=Published(text="80 times the pages", ratio=80.0),
    published_windows=None,
    tail_s=None,
    mechanisms=(),
)


def about(claim: Claim) -> Study:
    return replace(STUDY, claims=(claim,))


def drawn(claim: Claim = PAGES, pages: tuple[int, int] = (3, 258)) -> MeasurePicture:
    trials = blocks_of(STUDY, RATIOS, pages=pages)
    made = measure_picture(about(claim), claim, judge(about(claim), trials).headline)
    assert made is not None
    return made


def test_both_arms_have_a_row_of_dots_in_the_measures_own_unit() -> None:
    made = drawn()
    assert made.title == "probe pages"
    assert [(row.arm, row.index, row.mean.text, len(row.dots)) for row in made.rows] == [
        ("free", 0, "3", 5),
        ("held", 1, "258", 5),
    ]
    assert made.rows[1].dots[0].text == "block 1: 258"
    assert made.rows[0].y < made.rows[1].y < made.bottom < made.height
    assert "free: 3; held: 258" in made.description
    assert made.reference is None


def test_the_axis_begins_at_zero_unless_the_arms_differ_by_a_large_factor() -> None:
    near = drawn(pages=(200, 258))
    assert near.ticks[0].text == "0"
    assert near.rows[0].mean.at / near.rows[1].mean.at == pytest.approx(200 / 258, abs=0.02)
    assert "logarithmic" not in near.axis
    far = drawn()
    assert far.axis == "probe pages, logarithmic axis"
    assert [tick.text for tick in far.ticks] == ["10", "100"]
    assert all(0 <= tick.at <= 100 for made in (near, far) for tick in made.ticks)


def test_a_published_value_is_drawn_and_the_control_is_not() -> None:
    made = drawn(replace(PAGES, published=Published(text="as many", ratio=1.0), reference_value=240.0))
    assert made.reference is not None
    assert made.reference.text == "published 240"
    assert [row.arm for row in made.rows] == ["held"]
    assert abs(made.reference.at - made.rows[0].mean.at) < 10


def test_nothing_measured_leaves_no_axis_without_length() -> None:
    made = drawn(replace(PAGES, published=Published(text="as many", ratio=1.0), reference_value=2.0), pages=(3, 2))
    assert made.ticks
    assert made.rows[0].mean.at == made.reference.at if made.reference else False


def test_throughput_and_claims_without_blocks_have_no_such_picture() -> None:
    trials = blocks_of(STUDY, RATIOS)
    assert measure_picture(STUDY, STUDY.claims[0], judge(STUDY, trials).headline) is None
    assert measure_picture(about(PAGES), PAGES, judge(about(PAGES), ()).headline) is None
    view = claim_view(run_info(), about(PAGES), trials, judge(about(PAGES), trials).headline)
    assert view.own is not None


# --- which charts a page has


def page(claim: Claim) -> str:
    study = about(claim)
    trials, seconds = StudyRun(free_s=8, held_s=8, study=study).make()
    return study_page(ReportedStudy(run_info(), study, trials, seconds, judge(study, trials), "runs/one"))


def test_a_report_draws_what_its_claim_compares() -> None:
    html = page(PAGES)
    assert '<h2 id="own">Probe pages</h2>' in html
    assert "Throughput over time" not in html
    assert "Work behind each transaction" not in html
    about_tps = page(STUDY.claims[0])
    assert 'id="own"' not in about_tps
    assert "Throughput over time" in about_tps
    assert "Work behind each transaction" in about_tps
    hits = page(replace(PAGES, measure="buffer_hits_per_transaction"))
    assert "Throughput over time" not in hits
    assert "Work behind each transaction" in hits


def test_an_empty_chart_is_not_drawn() -> None:
    trials, seconds = StudyRun(free_s=8, held_s=8).make()
    blind = tuple(replace(second, buffer_hits_per_transaction=None) for second in seconds)
    html = study_page(ReportedStudy(run_info(), STUDY, trials, blind, judge(STUDY, trials), "runs/one"))
    assert "Throughput over time" in html
    assert "Work behind each transaction" not in html
    nothing = study_page(ReportedStudy(run_info(), STUDY, (), (), judge(STUDY, ()), "runs/one"))
    assert "data-chart=" not in nothing
    assert "Nothing was recorded" not in nothing


# --- links


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("see https://x.org/a?b=1&c, then", 'see <a href="https://x.org/a?b=1&amp;c" rel="noopener noreferrer">'),
        ("(https://x.org/a).", '">https://x.org/a</a>).'),
        ("nothing <b>here</b>", "nothing &lt;b&gt;here&lt;/b&gt;"),
        ("javascript:alert(1) ftp://x", "javascript:alert(1) ftp://x"),
        ('https://x.org/"onclick="y', '">https://x.org/</a>&#34;onclick=&#34;y'),
    ],
)
def test_addresses_in_texts_are_links_and_nothing_else_is(text: str, html: str) -> None:
    assert html in str(linked(text))


def test_the_source_is_a_link() -> None:
    html = page(STUDY.claims[0])
    assert f'<a href="{STUDY.source.url}" rel="noopener noreferrer">{STUDY.source.title}</a>' in html
