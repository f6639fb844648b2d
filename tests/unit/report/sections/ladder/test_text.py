"""A ladder in the terminal: golden texts at two widths, and what must hold at every width."""

import re

import pytest
from msgspec.structs import replace

from fixtures.doubts import starved
from fixtures.ladder import NOTHING, REFUSED, arms_seen, ladder_study, ladder_trials, ladder_verdict
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, trial
from fixtures.tree import ROOT
from pgclinic.model.progress import Progress
from pgclinic.model.trial import Probe
from pgclinic.model.verdict import Interval, IntervalMethod, Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.live.progress import trial_line
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.sections.ladder.steps import ladder_steps
from pgclinic.report.sections.ladder.text import ladder_lines
from pgclinic.report.sections.what_was_run.describe import describe_study
from pgclinic.report.words.verdicts import change, interval_text, outcome
from pgclinic.study.read import parse_study

STUDY = ladder_study()
TRIALS, _ = ladder_trials()
SHIPPED = ROOT / "python" / "pgclinic" / "studies" / "slow-by-configuration.toml"

WIDE = """\
REPLICATED IN DIRECTION, WEAKER   io is 3,280x slower than base
  interval    95 % CI 1,560x to 8,210x slower, 3 blocks, exact for few events
  published   42,000x slower: says the title
  others      the chart: 7,082 to 0.016 TPS (outside); the text: 11 commits in 120 s (outside); the
              title (outside, nearest)

                    TPS                        slower by
  step        published   here  95 % CI        published   here   what changed
  base            7,082    384  371 to 398
  cache-8MB       1,052    206  195 to 218          6.7x  1.87x   hit ratio 98.6 % -> 82.9 %
  cache-2MB   under 500    144  135 to 154          2.1x  1.43x   reads/commit 116 -> 193
  autovacuum        293    107  99.0 to 116        1.71x  1.34x   vacuums/s 0.02 -> 3.1
  wal                98   35.2  31.0 to 40.0        3.0x   3.0x   checkpoint every 30.0 s -> 4.2 s
  planner          0.87   0.55  0.38 to 0.77        113x    64x   seq. scans 0.1 % -> 94 %
  io              0.016  0.117  0.046 to 0.24        54x   4.7x   server CPU 90 % -> 29 %

  REPLICATED IN DIRECTION, WEAKER   cache-8MB runs at 0.54x of base   0.43 to 0.64
  REPLICATED                        cache-2MB runs at 0.70x of cache-8MB   0.56 to 0.84
  REPLICATED                        autovacuum runs at 0.74x of cache-2MB   0.60 to 0.89
  REPLICATED                        wal runs at 0.33x of autovacuum   0.26 to 0.39
  REPLICATED                        planner is 64x slower than wal   53x to 80x slower
  REPLICATED                        io runs at 0.21x of planner   0.17 to 0.26

  trust       blocks differ by 74 %, server used 1.6 of 2 cores, observers 0.2 %; no doubts
  report      runs/one/report.html
  again       pgclinic study judge runs/one"""

NARROW = """\
                    TPS                        slower by
  step        published   here  95 % CI        published   here
  base            7,082    384  371 to 398
  cache-8MB       1,052    206  195 to 218          6.7x  1.87x
    hit ratio 98.6 % -> 82.9 %
  cache-2MB   under 500    144  135 to 154          2.1x  1.43x
    reads/commit 116 -> 193
  autovacuum        293    107  99.0 to 116        1.71x  1.34x
    vacuums/s 0.02 -> 3.1
  wal                98   35.2  31.0 to 40.0        3.0x   3.0x
    checkpoint every 30.0 s -> 4.2 s
  planner          0.87   0.55  0.38 to 0.77        113x    64x
    seq. scans 0.1 % -> 94 %
  io              0.016  0.117  0.046 to 0.24        54x   4.7x
    server CPU 90 % -> 29 %"""


def text_of(verdict: Verdict | None = None, *, width: int = 100, colour: bool = False) -> str:
    places = RunPaths(folder="runs/one", report="runs/one/report.html")
    return verdict_text(STUDY, TRIALS, verdict or ladder_verdict(), places, width=width, colour=colour)


def test_a_ladder_at_100_columns() -> None:
    assert text_of() == WIDE


def test_a_ladder_at_80_columns() -> None:
    text = text_of(width=80)
    assert NARROW in text
    assert "REPLICATED                        cache-2MB runs at 0.70x of cache-8MB\n" in text


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120])
def test_lines_keep_to_the_width(width: int) -> None:
    assert max(len(line) for line in text_of(width=width).splitlines()) <= width


def test_colour_adds_only_escapes() -> None:
    coloured = text_of(colour=True)
    for escape in ("\x1b[1;32m", "\x1b[2m", "\x1b[0m"):
        assert escape in coloured
        coloured = coloured.replace(escape, "")
    assert coloured == WIDE


def test_rungs_without_a_commit_and_refused_ones() -> None:
    ladder = ladder_steps(STUDY, ladder_verdict((*arms_seen()[:5], REFUSED, NOTHING)))
    lines = ladder_lines(ladder, 100)
    assert lines[-2].split()[:3] == ["planner", "0.87", "refused"]
    assert lines[-1].split()[:3] == ["io", "0.016", "≤0.061"]


def test_doubts_and_words_that_are_not_decided() -> None:
    verdict = ladder_verdict()
    undecided = replace(verdict.claims[1], word=VerdictWord.INCONCLUSIVE, qualifier=None, interval=None)
    text = text_of(replace(verdict, doubts=(starved(0.4),), claims=(verdict.claims[0], undecided, *verdict.claims[2:])))
    assert "\n  doubt       other processes took 40 % of the CPU; server and load obtained 12.0 of 20.0" in text
    assert "\n  advice      stop what else runs on this machine and repeat\n" in text
    assert "\n  INCONCLUSIVE   cache-8MB could not be compared with base\n" in text


def test_other_studies_keep_their_layout() -> None:
    study = global_counters()
    trials = blocks_of(study, (0.6, 0.61, 0.59, 0.605, 0.595))
    lines = verdict_text(study, trials, judge(study, trials)).splitlines()
    assert lines[0].startswith("REPLICATED   held runs at 0.60x of free in the last 5 s    95 % CI")
    assert not any("slower by" in line for line in lines)


@pytest.mark.parametrize(
    ("method", "ending"),
    [
        (IntervalMethod.ALWAYS_VALID, "5 blocks"),
        (IntervalMethod.FIXED_BLOCKS, "5 blocks, a fixed number of blocks"),
        (IntervalMethod.COUNTS, "5 blocks, exact for few events"),
    ],
)
def test_an_interval_names_its_method(method: IntervalMethod, ending: str) -> None:
    text = interval_text(Interval(ratio=0.5, low=0.4, high=0.6, blocks=5, method=method))
    assert text == f"95 % CI 0.40 to 0.60, {ending}"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1 / 42_000, "42,000 times fewer"), (0.0000226, "44,200 times fewer"), (0.0002, "5,000 times fewer")],
)
def test_large_changes(ratio: float, words: str) -> None:
    assert change(ratio) == words


def test_other_measures_are_named() -> None:
    claim = replace(STUDY.claims[1], measure="probe_pages")
    assert outcome(claim, ladder_verdict().claims[1]) == "cache-8MB has 0.54x the probe pages of base"


def test_a_probe_that_was_only_planned() -> None:
    study = global_counters()
    record = replace(
        trial(study, 2, 1, "held", [10.0] * 10, hits=None),
        probe=Probe(pages=None, plan="Seq Scan on stock", sequential_scans=1),
    )
    last = Progress(block=1, blocks=5, arm="held", stage="probing")
    assert trial_line(record, last).endswith("10.0 TPS over 10 s   probe planned, 1 sequential scan")


def test_the_shipped_ladder_is_described_without_a_string_of_zeros() -> None:
    text = describe_study(parse_study(SHIPPED.read_text(encoding="utf-8"), SHIPPED.name))
    assert "TPC-C as BenchBase implements it" in text
    assert "serializable" in text
    assert re.search(r"[\d,]+x to [\d,]+x slower", text)
    assert "buffer hit ratio: at most 0.95x" in text
    assert "e-0" not in text
    assert max(len(line) for line in text.splitlines()) <= 100
