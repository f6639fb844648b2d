"""The verdict in the terminal, the lines of finished trials, and the words they share with the page."""

import io
import re

import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, printed, trial
from pgclinic.model.progress import Progress
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import InvalidReason
from pgclinic.report.live.progress import clock, place_words, sparkline, trial_line
from pgclinic.report.parts.colour import colour_wanted
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.words.no_answer import no_answer
from pgclinic.report.words.verdicts import answer, change, plain_sentence

STUDY = global_counters()
STEADY = (0.60, 0.61, 0.59, 0.605, 0.595)


def text_of(trials: tuple[TrialRecord, ...], *, colour: bool = False, width: int = 100) -> str:
    places = RunPaths(folder="runs/one", report="runs/one/report.html")
    return verdict_text(STUDY, trials, judge(STUDY, trials), places, colour=colour, width=width)


def test_verdict_of_a_good_run() -> None:
    trials, _ = StudyRun(free_s=15).make()
    lines = text_of(trials).splitlines()
    assert lines[0].startswith("REPLICATED   held runs at 0.5")
    assert "x of free in the last 5 s    95 % CI 0.4" in lines[0]
    assert lines[0].endswith("5 blocks")
    assert lines[1] == "  published   0.60x: 7,228.1 -> 4,360.8 TPS in six windows of 5 s"
    assert lines[2].startswith("  why         buffer hits per update 6 -> 1")
    assert lines[3].startswith("  windows ")
    assert lines[3].endswith("TPS published, held, 5 s each")
    assert lines[4].endswith("TPS here")
    assert lines[5].startswith("  trust       blocks differ by ")
    assert lines[5].endswith("no doubts")
    assert lines[6] == "  report      runs/one/report.html"
    assert lines[7] == "  again       pgclinic study judge runs/one"


def test_windows_stand_under_each_other() -> None:
    trials, _ = StudyRun().make()
    published, measured = (line for line in text_of(trials).splitlines() if "TPS " in line and "  " in line[14:])
    assert published.index("TPS published") == measured.index("TPS here")


def test_inconclusive_says_what_it_needs() -> None:
    text = text_of(blocks_of(STUDY, STEADY[:3]))
    assert text.startswith("INCONCLUSIVE   held runs at 0.60x of free in the last 5 s    no CI yet, 3 blocks\n")
    assert "\n  needs       about 2 more blocks to decide it\n" in text


def test_invalid_gives_its_reason() -> None:
    text = text_of(blocks_of(STUDY, STEADY, hits=(6.0, 6.1)))
    assert text.startswith("INVALID   No answer: buffer hits per update did not change as claimed\n")
    assert re.search(
        r"\n  refused     held runs at 0.60x of free in the last 5 s, 95 % CI 0.5\d to 0.6\d, 5 blocks\n", text
    )
    assert "\n  reason      Cause: buffer hits per update went from 6 (free) to 6.1 (held)" in text


def test_a_starved_run_leads_with_the_reason_and_not_with_its_figure() -> None:
    text = text_of(blocks_of(STUDY, (2.43,) * 5, doubts=(starved(0.6),)))
    first, second, *_ = text.splitlines()
    assert first == "INVALID   No answer: other programs used most of the CPU"
    assert second.startswith("  refused     held runs at 2.43x of free")
    # Dim, so that nobody takes it for the result.
    assert "\x1b[2mheld runs at 2.43x" in text_of(blocks_of(STUDY, (2.43,) * 5, doubts=(starved(0.6),)), colour=True)


def test_an_invalid_claim_has_no_figure_among_other_claims() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY, hits=(6.0, 6.1))).headline
    assert verdict.invalid_because is InvalidReason.CAUSE_NOT_SHOWN
    assert answer(STUDY.claims[0], verdict) == "No answer: buffer hits per update did not change as claimed"
    assert no_answer(None) == "No answer"
    unread = judge(STUDY, blocks_of(STUDY, STEADY, pages=(3, None))).headline
    assert answer(STUDY.claims[0], unread) == "No answer: pages visited by one probe could not be read"


def test_nothing_ran() -> None:
    text = text_of(())
    assert text.startswith("INCONCLUSIVE   held could not be compared with free    no usable block")
    assert "TPS here" not in text


def test_doubts_and_failures_are_told() -> None:
    trials = (
        *blocks_of(STUDY, STEADY, doubts=(starved(0.2),)),
        failed_trial(STUDY, 11, 6, "held", "killed", server_version="18.6"),
    )
    text = text_of(trials)
    assert "1 trial failed; 2 doubts" in " ".join(text.split())
    assert "\n  doubt       in 10 of 11 trials, worst 20 % (trial 1): other processes took 20 % of the CPU;" in text
    assert "\n  advice      stop what else runs on this machine and repeat\n" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_keep_to_the_width(width: int) -> None:
    trials = blocks_of(STUDY, (0.75, 0.77, 0.74, 0.72, 0.76), hits=(6.0, 6.1))
    lines = text_of(trials, width=width).splitlines()
    assert max(len(line) for line in lines) <= width


def test_colour_adds_only_escapes() -> None:
    trials = blocks_of(STUDY, STEADY)
    plain, coloured = text_of(trials), text_of(trials, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;32mREPLICATED\x1b[0m" in coloured
    for escape in ("\x1b[1;32m", "\x1b[2m", "\x1b[0m"):
        coloured = coloured.replace(escape, "")
    assert coloured == plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_colour_wanted(stream: io.StringIO, environment: dict[str, str], wanted: bool) -> None:
    assert colour_wanted(stream, environment) is wanted


def test_every_claim_is_printed_and_the_places_once() -> None:
    other = replace(
        STUDY.claims[0],
        name="faster",
        published=printed(1.5),
        published_windows=None,
        mechanisms=(),
    )
    study = replace(STUDY, claims=(STUDY.claims[0], other))
    trials = blocks_of(study, STEADY)
    text = verdict_text(study, trials, judge(study, trials), RunPaths(folder="runs/one"))
    assert text.index("REPLICATED") < text.index("CONTRADICTED")
    assert text.count("again") == 1
    assert text.count("trust") == 1


def test_a_number_of_blocks_that_is_open_is_a_bound_and_never_exceeded() -> None:
    assert place_words(Progress(block=5, blocks=9, arm="a", stage="", at_most=True)) == "block 5 of at most 9"
    assert place_words(Progress(block=5, blocks=4, arm="a", stage="", at_most=True)) == "block 5 of at most 5"
    assert place_words(Progress(block=2, blocks=4, arm="a", stage="", calibration=True)) == "A/A calibration 2 of 4"


def test_sparkline_starts_at_zero() -> None:
    assert sparkline([8, 4, 1, 0]) == "█▄▁▁"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
    assert len(sparkline(range(100))) == 12


@pytest.mark.parametrize(
    ("seconds", "text"), [(72, "1:12"), (4.6, "0:05"), (3723, "1:02:03"), (-1, "0:00"), (59.6, "1:00")]
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_trial_lines() -> None:
    done = trial(STUDY, 2, 1, "held", [1000.0] * 10, hits=142.0, pages=258)
    last = Progress(block=1, blocks=5, arm="held", stage="measuring")
    assert trial_line(done, last) == "block 1 of 5   held   1,000 TPS over 10 s   142 hits/txn   probe 258 pages"
    assert trial_line(failed_trial(STUDY, 2, 1, "held", "killed"), last) == "block 1 of 5   held   failed: killed"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.55, "45 % fewer"),
        (1.8, "80 % more"),
        (1.0, "as many"),
        (1.004, "as many"),
        (3.2, "3.2 times as many"),
        (0.001, "1,000 times fewer"),
        (0.06, "94 % fewer"),
    ],
)
def test_change(ratio: float, words: str) -> None:
    assert change(ratio) == words


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        (STEADY, "The published result shows on this machine too: “held” finished 40 % fewer transactions per second"),
        ((0.85,) * 5, "The published effect shows on this machine, weaker than published:"),
        ((1.0,) * 5, "does not show on this machine: “held” finished as many transactions per second as “free”"),
        ((1.3,) * 5, "This machine shows the opposite of what was published:"),
        (STEADY[:2], "so far “held” finished 40 % fewer"),
        ((), "no block gave both figures. About 5 more blocks would decide it."),
    ],
)
def test_plain_sentences(ratios: tuple[float, ...], expected: str) -> None:
    verdict = judge(STUDY, blocks_of(STUDY, ratios)).headline
    assert expected in plain_sentence(STUDY.claims[0], verdict)


def test_plain_sentence_of_an_invalid_run_names_the_counter() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY, pages=(3, 3))).headline
    sentence = plain_sentence(STUDY.claims[0], verdict)
    assert sentence.startswith("No answer: pages visited by one probe did not change")
