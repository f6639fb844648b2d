"""``pgclinic grow``: capture or read a twin, measure it at several sizes, keep, print."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pgclinic.capture.twin import capture_twin
from pgclinic.cli.duration import parse_duration_or_none_s, parse_duration_s
from pgclinic.cli.exit_codes import UNDECIDED
from pgclinic.cli.grow import GrowRequest
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.output import print_json, say, text_columns
from pgclinic.cli.this_command import addresses_of, command_began_s, command_words
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.sources import find_source
from pgclinic.load.tool import this_tool
from pgclinic.model.grow import GrowthForecast, SizeStatus, TwinSize
from pgclinic.model.output import GrowOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.twin import Twin
from pgclinic.model.version import NEWEST_MAJOR
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.reported import ReportedGrowth
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.report.sections.growth.text import growth_text, kept_words, planned_words, twin_words
from pgclinic.report.sections.next.twins import growth_next
from pgclinic.report.words.figures import count
from pgclinic.settings.values import parse_integer, unit_size
from pgclinic.store.directory_lock import ASKED_S, directory_lock
from pgclinic.store.grow_folder import ORIGINAL, write_grow_folder, write_growth
from pgclinic.store.machine import read_machine
from pgclinic.store.private_folder import write_private_report
from pgclinic.tune.grow.run import GrowListener, GrowRun, GrowWanted
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.grown import GrowthPlan
from pgclinic.twin.mask import mask_twin

_SUFFIX = ".twin"
_OBSERVE_S = 30.0
#: Of the budget, what an observation may take where the user names no time.
_OBSERVE_SHARE = 0.1
_TO_MIN, _TO_MAX = 1.0, 10_000.0


@dataclass(frozen=True)
class _GrowOriginal:
    """The twin at its own size, where it is, and whether it was captured by this command."""

    twin: Twin
    place: str
    is_new: bool


def run_grow(request: GrowRequest) -> int:
    """Measure the twins, print what the database costs when it has grown, and return the exit code."""
    to, budget_s = _factor(request.to), parse_duration_s(request.budget, "--budget")
    memory_bytes = _memory(request.memory)
    original = _original(request, budget_s)
    binaries = _binaries(request, original.twin)
    say_cleaned()
    wanted = GrowWanted(
        to=to,
        fixed=request.fixed,
        growing=request.growing,
        budget_s=budget_s,
        began_s=command_began_s(),
        memory_bytes=memory_bytes,
    )
    run = GrowRun(original.twin, binaries, wanted)
    folder, info = _folder(request, original, budget_s)
    with ExitStack() as in_use, LiveView(sys.stderr, plain=request.plain) as live:
        in_use.enter_context(directory_lock(folder, wait=False, patience_s=ASKED_S))
        run.listener = _listener(live, folder)
        try:
            found = run.run()
        except KeyboardInterrupt:
            live.clear()
            _finish(request, run.interrupted(), folder, info)
            raise
        live.clear()
        _finish(request, found, folder, info)
    return UNDECIDED if found.server_time is None else 0


# What is asked


def _factor(text: str) -> float:
    """The target as a number: 10x or 10. Raises UsageError."""
    try:
        value = float(text.strip().lower().removesuffix("x"))
    except ValueError:
        value = 0.0
    if not _TO_MIN < value <= _TO_MAX:
        raise UsageError(f"--to {text!r} is not a factor above 1", hint="write --to 10x")
    return value


def _memory(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_integer(text, "kB", NEWEST_MAJOR) * unit_size("kB")
    except ValueError as error:
        raise UsageError(f"--memory {text!r}: {error}", hint="write --memory 64GB") from None


def _original(request: GrowRequest, budget_s: float) -> _GrowOriginal:
    """The twin of the file, or of the live server. Raises UsageError, RunFailedError."""
    path = Path(request.source)
    if request.source.endswith(_SUFFIX) or path.is_file():
        if request.observe is not None:
            raise UsageError("--observe needs a live server", hint="a twin has the workload that was captured with it")
        return _GrowOriginal(read_twin(path), str(path), is_new=False)
    usual_s = min(_OBSERVE_S, _OBSERVE_SHARE * budget_s)
    observe_s = usual_s if request.observe is None else parse_duration_or_none_s(request.observe, "--observe")
    access = reach_dsn(request.source)
    if observe_s:
        say(f"pgclinic: counting statements for {observe_s:g} s")
    twin = mask_twin(capture_twin(access, observe_s=observe_s))
    return _GrowOriginal(twin, f"{access.server.host}:{access.server.port}", is_new=True)


def _binaries(request: GrowRequest, twin: Twin) -> Binaries:
    server = request.server
    version = server.version
    if version is None and server.bindir is None:
        version = str(twin.version_num // 10_000)
    return find_source(version, server.bindir).ensure()


# What is kept and shown


def _folder(request: GrowRequest, original: _GrowOriginal, budget_s: float) -> tuple[Path, RunInfo]:
    addresses = addresses_of([request.source]) if original.is_new else {}
    info = RunInfo(
        command=command_words(addresses),
        kind=RunKind.GROW,
        name=original.twin.database,
        seed=0,
        profile="grow",
        budget_s=budget_s,
        server=f"PostgreSQL {original.twin.version} ({original.place})",
        started_epoch_us=time.time_ns() // 1000,
        machine=read_machine(),
        tool=this_tool(),
    )
    folder = write_grow_folder(request.runs, info)
    if original.is_new:
        write_twin(folder / ORIGINAL, original.twin, masked_text=masked_text(original.twin))
    return folder, info


def _listener(live: LiveView, folder: Path) -> GrowListener:
    def on_planned(sizes: tuple[TwinSize, ...], plan: GrowthPlan) -> None:
        live.say(f"  {count(len(plan.growing), 'table')} will grow; twins:")
        for one in sizes:
            live.say(f"    {one.size:g}x: {planned_words(one)}")
        for words in kept_words(plan.kept):
            live.say(f"  kept: {words}")

    def on_size(one: TwinSize) -> None:
        live.say(f"  {twin_words(one)}")

    def on_growth(found: GrowthForecast) -> None:
        if any(one.status is SizeStatus.MEASURED for one in found.sizes):
            write_growth(folder, found)

    return GrowListener(on_stage=live.stage, on_planned=on_planned, on_size=on_size, on_growth=on_growth)


def _finish(request: GrowRequest, found: GrowthForecast, folder: Path, info: RunInfo) -> None:
    """Keep the answer, write its page, print it. What cannot be stored is printed all the same."""
    from pgclinic.report.kinds import growth_page

    one = ReportedGrowth(info, found, str(folder))
    report: str | None = None
    problem: RunFailedError | None = None
    try:
        write_growth(folder, found)
        report = str(write_private_report(folder, growth_page(one)))
    except RunFailedError as error:
        problem = error
    if request.as_json:
        print_json(GrowOutput(run=str(folder), report=report, growth=found))
    else:
        places = [("run", str(folder)), *((("report", report),) if report is not None else ())]
        print(growth_text(found, places, todo=growth_next(one), width=text_columns()))
    if problem is not None:
        raise problem
