"""What a terminal shows of a kept run, as SVG; and its report, the page that the command wrote."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from pgclinic.experiment.extend import extended
from pgclinic.experiment.road import compared_stored, judge_stored
from pgclinic.experiment.stored import plan_of
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.advise import IndexAdvice
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.run import RunKind
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.report.kept_run import bench_text, rendered_run
from pgclinic.report.sections.advice.text import advice_text
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.sections.findings.text import CheckupPlaces, checkup_text
from pgclinic.report.sections.growth.text import growth_text
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.report.sections.tuned.text import tuning_text
from pgclinic.report.sections.upgrade.text import upgrade_text
from pgclinic.report.words.answers import answer_sentence
from pgclinic.store.run_folder import read_run
from pgclinic.store.run_list import FoundRun, found_run

COLUMNS = 100
#: Fonts of another host, and who made the form.
_LEFT_OUT = re.compile(r"@font-face \{\{.*?\n    \}\}\n?|<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True)
class Session:
    """A kept run as it was seen: its answer, the lines of the terminal, and its report."""

    answer: str
    terminal: str
    report: str

    def picture(self, command: str, lines: int) -> str:
        """``command`` and its output, cut to ``lines``, as SVG: the same run gives the same picture."""
        return terminal_svg(f"$ {command}\n{self.terminal}", lines)


def session_of(archive: Path) -> Session:
    """The run that ``archive`` has."""
    with kept_run(archive) as found:
        assert found.info is not None
        html = rendered_run(found).html()
        return Session(_sentence(found), "\n".join(_terminal(found)), html)


@contextmanager
def kept_run(archive: Path) -> Iterator[FoundRun]:
    """The run of an archive, unpacked for as long as it is read."""
    with TemporaryDirectory() as place:
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        (folder,) = Path(place).iterdir()
        yield found_run(folder)


def terminal_svg(text: str, lines: int) -> str:
    """``text`` with its colours, cut to ``lines``, as a terminal of 100 columns or wider shows it."""
    whole = Text.from_ansi(text).split()
    shown = [*whole[: lines - 1], Text("...")] if len(whole) > lines else [*whole]
    # Statements are not wrapped there.
    width = max(COLUMNS, *(line.cell_len for line in shown))
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False
    )
    for line in shown:
        console.print(line, soft_wrap=True)
    form = _LEFT_OUT.sub("", CONSOLE_SVG_FORMAT)
    # Without a number of its own, the names of its styles depend on what was drawn.
    return console.export_svg(title="pgclinic", code_format=form, theme=MONOKAI, unique_id="terminal")


def _sentence(found: FoundRun) -> str:
    return answer_sentence(found.answer) if found.answer is not None else ""


def _terminal(found: FoundRun) -> Iterator[str]:
    """What the command printed at its end."""
    run = f"runs/{found.path.name}"
    report = f"{run}/report.html"
    files: Sequence[tuple[str, str]] = (("report", report),)
    match found.answer:
        case Checkup() as checkup:
            yield checkup_text(checkup, CheckupPlaces(folder=run, report=report), colour=True, width=COLUMNS)
        case IndexAdvice() as advice:
            yield advice_text(advice, report, run, width=COLUMNS)
        case Upgrade() as upgrade:
            yield upgrade_text(upgrade, files, width=COLUMNS)
        case GrowthForecast() as growth:
            yield growth_text(growth, files)
        case BenchResult() as bench:
            yield bench_text(bench)
        case Assay() | Search() | Bisect() as tuned:
            yield tuning_text(tuned, plan_of(read_run(found.path)), files, resume=run)
        case _:
            yield from _experiment(found, RunPaths(folder=run, report=report))


def _experiment(found: FoundRun, places: RunPaths) -> Iterator[str]:
    stored = read_run(found.path)
    plan = extended(plan_of(stored), stored.info)
    verdict = judge_stored(stored, plan)
    if stored.info.kind is RunKind.COMPARE:
        thresholds = tuple(parse_ratio_threshold(text) for text in stored.info.fail_if)
        comparison = compared_stored(stored, plan, verdict, thresholds)
        yield compare_text(comparison, stored.trials, places, width=COLUMNS)
    else:
        yield verdict_text(plan.study, stored.trials, verdict, places, colour=True, width=COLUMNS)
