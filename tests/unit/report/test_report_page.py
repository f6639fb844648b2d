"""What goes into the page, before it is rendered, and what must never come out of it."""

import base64
import hashlib
import json
import random
import re
from html import unescape
from html.parser import HTMLParser
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, printed, run_info, trial
from pgclinic.judge.calibration import calibration_of
from pgclinic.model.doubt import Doubt, DoubtKind, ServerRestarted
from pgclinic.model.run import Second
from pgclinic.report.html import script_json
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import block_rows, claim_view, plain_interval, window_rows
from pgclinic.report.sections.blocks.picture import interval_picture
from pgclinic.report.sections.calibration.view import calibration_view
from pgclinic.report.sections.machine.view import cost_rows, machine_rows
from pgclinic.report.sections.repeat.view import repeat_commands
from pgclinic.report.sections.what_was_run.view import trial_rows, workload_rows
from pgclinic.samples.machine_cost import cost_of

STUDY = global_counters()
STEADY = (0.60, 0.61, 0.59, 0.605, 0.595)
RUN = StudyRun(free_s=20, held_s=30)
TRIALS, SECONDS = RUN.make()


def page() -> str:
    return study_page(ReportedStudy(run_info(), STUDY, TRIALS, SECONDS, judge(STUDY, TRIALS), "runs/one"))


# --- tables


def test_windows_are_compared_with_their_own_first() -> None:
    rows = window_rows(judge(STUDY, TRIALS).headline.windows)
    assert rows[0][0] == "0-5 s"
    assert rows[0][3:] == ("100 %", "100 %")
    assert rows[5][1] == "4,361"
    assert rows[5][3] == "60 %"


def test_blocks_table_shows_left_out_blocks() -> None:
    trials = list(blocks_of(STUDY, STEADY))
    trials[3] = failed_trial(STUDY, 4, 2, "held", "killed", server_version="18.6")
    rows = block_rows(STUDY.claims[0], judge(STUDY, tuple(trials)).headline, trials)
    assert rows[0] == ("1", "free, held", "10,000", "6,000", "0.60")
    assert rows[1] == ("2", "free, held (failed)", "-", "-", "excluded")


def test_view_of_an_unreadable_counter() -> None:
    trials = blocks_of(STUDY, STEADY, pages=(3, None))
    view = claim_view(run_info(), STUDY, trials, judge(STUDY, trials).headline)
    assert view.mechanisms[1] == ("pages visited by one probe", "3", "-", "-", "at least 2x", "✗ did not change")
    assert not view.mechanisms_moved


def test_plain_interval_only_for_a_number_of_blocks_fixed_beforehand() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY)).headline
    assert plain_interval(run_info(), STUDY, verdict) is None
    quick = replace(STUDY.profiles["quick"], blocks_min=5, blocks_max=5)
    fixed = replace(STUDY, profiles={"quick": quick})
    assert plain_interval(run_info(), fixed, verdict) == "0.59 to 0.61"
    assert plain_interval(run_info(), fixed, judge(STUDY, blocks_of(STUDY, STEADY[:4])).headline) is None
    assert plain_interval(run_info(profile="other"), fixed, verdict) is None
    html = study_page(
        ReportedStudy(run_info(), fixed, blocks_of(STUDY, STEADY), (), judge(fixed, blocks_of(STUDY, STEADY)))
    )
    assert "0.59 to 0.61" in html


def test_cost_is_the_mean_by_time() -> None:
    cost = cost_of(TRIALS)
    assert cost is not None
    assert cost.server_cores == pytest.approx(1.62)
    assert cost.observer_share == pytest.approx(0.002)
    assert cost.pressure_share == pytest.approx(0.31)
    assert cost_of(()) is None
    assert dict(cost_rows(TRIALS))["Server"] == "1.62 of 2 cores"
    assert cost_rows(()) == ()


def test_run_rows() -> None:
    assert dict(machine_rows(run_info()))["Seed"] == "7"
    verdict = judge(STUDY, TRIALS)
    assert dict(workload_rows(run_info(), STUDY, verdict))["Server"] == "PostgreSQL 18.6 (embedded)"
    attached = run_info(server="server at db.example")
    assert dict(workload_rows(attached, STUDY, verdict))["Server"] == "server at db.example; PostgreSQL 18.6"
    commands = repeat_commands(run_info(), "runs/my run")
    assert commands[0][0] == "pgclinic study run global-counters --quick --seed 7"
    assert commands[1][0] == "pgclinic study judge 'runs/my run'"


def test_trial_rows_tell_failures_and_doubts() -> None:
    lost = failed_trial(STUDY, 11, 6, "held", "killed")
    assert trial_rows((*TRIALS, lost))[-1] == ("11", "6", "held", "-", "-", "-", "failed: killed")
    assert trial_rows(TRIALS)[0][-1] == "fine"


# --- the interval strip


def test_positions_follow_the_logarithm() -> None:
    picture = interval_picture(judge(STUDY, blocks_of(STUDY, STEADY)).headline)
    region_end = picture.region.left + picture.region.width
    assert picture.region.left < picture.published < region_end < picture.null_zone.left < picture.one
    # 0.603 lies, as a logarithm, exactly between the region's edge at its root and that at its square, 2:1.
    assert (picture.published - picture.region.left) / picture.region.width == pytest.approx(2 / 3, abs=0.01)
    assert len(picture.dots) == 5
    assert "95 % CI" in picture.description


def test_strip_without_blocks() -> None:
    picture = interval_picture(judge(STUDY, ()).headline)
    assert (picture.interval, picture.estimate, picture.dots) == (None, None, ())
    assert "Nothing was measured" in picture.description


@given(st.floats(1e-5, 1e4), st.lists(st.floats(1e-4, 50.0), min_size=0, max_size=8))
def test_strip_holds_everything_and_its_ticks_do_not_crowd(published: float, ratios: list[float]) -> None:
    study = replace(STUDY, claims=(replace(STUDY.claims[0], published=printed(published)),))
    picture = interval_picture(judge(study, blocks_of(study, ratios, control_tps=1e6, seconds=5)).headline)
    places = [picture.published, picture.one, *(dot.at for dot in picture.dots), *(tick.at for tick in picture.ticks)]
    assert all(-0.01 <= place <= 100.01 for place in places)
    assert 1 <= len(picture.ticks) <= 9
    assert "1x" in [tick.text for tick in picture.ticks]
    gaps = [b.at - a.at for a, b in zip(picture.ticks, picture.ticks[1:], strict=False)]
    assert min(gaps, default=100) >= 9


# --- the page


class Reader(HTMLParser):
    """Collects the tags with their attributes, to find anything that would ask the network."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_page_refers_to_nothing_outside_itself() -> None:
    html = page()
    reader = Reader()
    reader.feed(html)
    for tag, attributes in reader.tags:
        assert "src" not in attributes, tag
        if tag == "link":
            assert attributes["href"] == "data:,"
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    assert "url(" not in styles
    assert "@import" not in styles
    assert "default-src 'none'" in html


def test_page_holds_its_data_as_json() -> None:
    found = re.search(r'<script type="application/json" id="charts-throughput">(.*?)</script>', page(), re.DOTALL)
    assert found is not None
    data = json.loads(found.group(1))
    assert len(data["charts"][0]["lines"]) == 12
    assert [line["name"] for line in data["charts"][0]["lines"][-2:]] == ["free", "held"]


def test_nothing_from_a_run_can_become_markup() -> None:
    evil = "</script><script>alert(1)</script><!--"
    study = replace(
        STUDY,
        title=evil,
        arms={evil: STUDY.arms["free"], "held": replace(STUDY.arms["held"], builds_on=evil)},
        claims=(replace(STUDY.claims[0], control=evil, text=evil),),
    )
    trials = tuple(
        replace(t, spec=replace(t.spec, arm=evil)) if t.spec.arm == "free" else t for t in blocks_of(STUDY, STEADY)
    )
    doubt = Doubt(kind=DoubtKind.SERVER_RESTARTED, facts=ServerRestarted(seen=evil))
    trials = (replace(trials[0], doubts=(doubt,)), *trials[1:])
    seconds = (Second(trial=1, block=1, arm=evil, second=0, tps=1.0, failed=0, latency_us_p50=1, latency_us_p99=1),)
    html = study_page(ReportedStudy(run_info(server=evil), study, trials, seconds, judge(study, trials), evil))
    assert "<script>alert" not in html
    assert html.count("<script") == page().count("<script")
    assert html.count("</script") == page().count("</script")


def test_what_is_no_web_address_is_no_link() -> None:
    source = replace(STUDY.source, url="javascript:alert(1)")
    html = study_page(ReportedStudy(run_info(), replace(STUDY, source=source), (), (), judge(STUDY, ()), "."))
    assert "javascript:" not in html


def test_page_allows_its_own_script_by_its_hash_and_no_other() -> None:
    html = page()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert policy is not None
    assert script is not None
    rule = next(part for part in unescape(policy[1]).split("; ") if part.startswith("script-src"))
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert rule == f"script-src 'sha256-{digest}'"


def test_data_in_the_page_cannot_end_its_element() -> None:
    names = ["</script>", "<!--", "a\u2028b", "c\u2029d", "&amp;"]
    told = str(script_json({"names": names}))
    assert not set("<>&\u2028\u2029") & set(told)
    assert json.loads(told)["names"] == names


def test_page_is_the_same_every_time() -> None:
    assert page() == page()


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_page_of_a_run_that_was_cut_short(blocks: int) -> None:
    trials = TRIALS[: 2 * blocks]
    seconds = tuple(second for second in SECONDS if second.trial <= 2 * blocks)
    html = study_page(ReportedStudy(run_info(), STUDY, trials, seconds, judge(STUDY, trials)))
    assert "inconclusive" in html


def test_vendored_files_name_their_origin_and_licence() -> None:
    assets = resources.files("pgclinic.report") / "parts"
    for name in ("uPlot.iife.min.js", "uPlot.min.css"):
        head = (assets / name).read_text(encoding="utf-8")[:300]
        assert "vendored unchanged" in head
    assert "The MIT License" in (assets / "uPlot.LICENSE").read_text(encoding="utf-8")


# --- contrast


def themes() -> dict[str, dict[str, str]]:
    css = (resources.files("pgclinic.report") / "parts" / "page.css").read_text(encoding="utf-8")
    blocks = re.findall(r':root(?:\[data-theme="dark"\])? \{(.*?)\}', css, re.DOTALL)
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for name, block in zip(("light", "dark"), blocks, strict=True)
    }


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


#: A proof is on paper of its word; SQL stands in it, in tables and in boxes.
PAPERS_OF_SQL = ("faint", "card", "paper", "good-paper", "bad-paper")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable(theme: str) -> None:
    colours = themes()[theme]
    pairs = [(ink, paper) for ink in ("ink", "soft", "link") for paper in ("paper", "card")]
    pairs += [(word, f"{word}-paper") for word in ("good", "calm", "bad", "open", "void")]
    pairs += [(f"sql-{kind}", paper) for kind in ("kw", "str", "num", "com", "var") for paper in PAPERS_OF_SQL]
    pairs += [("ink", "faint"), *((f"arm-{index}", "paper") for index in range(8)), ("published", "paper")]
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}


def test_dark_is_the_same_by_system_and_by_button() -> None:
    css = (resources.files("pgclinic.report") / "parts" / "page.css").read_text(encoding="utf-8")
    by_system = re.search(r':root:not\(\[data-theme="light"\]\) \{(.*?)\}', css, re.DOTALL)
    by_button = re.search(r':root\[data-theme="dark"\] \{(.*?)\}', css, re.DOTALL)
    assert by_system is not None
    assert by_button is not None
    assert by_system.group(1).split() == by_button.group(1).split()


# --- what the calibration told


def test_the_page_shows_what_the_calibration_told_of_the_machine() -> None:
    draw = random.Random(3)
    rows = [[1000 * draw.lognormvariate(0.0, 0.02) for _ in range(16)] for _ in range(4)]
    trials = [trial(STUDY, number, 0, "free", row) for number, row in enumerate(rows, start=1)]
    calibration = calibration_of(STUDY.claims, trials, budget_s=600, block_s=30, blocks_max=12)
    view = calibration_view(calibration)
    assert view is not None
    assert view.said[0].startswith("minimum detectable effect: ")
    assert "4 trials of the same arm, 60 s in total" in view.lead
    assert [row[0].split(" (")[0] for row in view.rows] == [f"{one.length_s} s" for one in calibration.slices]
    assert sum("used" in row[0] for row in view.rows) <= 1
    assert sum("recommended" in row[0] for row in view.rows) == 1
    html = study_page(ReportedStudy(run_info(), STUDY, TRIALS, SECONDS, judge(STUDY, TRIALS), calibration=calibration))
    assert "A/A calibration" in html
    assert "held-is-slower" in html.split("A/A calibration")[1]
    assert "A/A calibration" not in page()
