"""The runs of a directory as a list, and one run as rows. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from pgclinic.model.output import RunOutput, RunState
from pgclinic.model.run import RunKind
from pgclinic.report.words.answers import answer_sentence, answer_word
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, size
from pgclinic.report.words.machine import machine_words
from pgclinic.store.run_list import FoundRun

#: The commands that take up a run which was interrupted.
_RESUMED = {
    RunKind.STUDY: "study run",
    RunKind.COMPARE: "compare",
    RunKind.ASSAY: "assay",
    RunKind.SEARCH: "search",
    RunKind.BISECT: "bisect",
}


def run_output(found: FoundRun) -> RunOutput:
    """What is said of a run, for people and for machines."""
    info, answer = found.info, found.answer
    if info is None:
        return RunOutput(
            path=str(found.path), state=state_of(found), size_bytes=found.size_bytes, problem=found.problem
        )
    return RunOutput(
        path=str(found.path),
        report=str(found.report) if found.report is not None else None,
        state=state_of(found),
        size_bytes=found.size_bytes,
        kind=info.kind,
        name=info.name,
        answer=answer_word(answer) if answer is not None else None,
        sentence=answer_sentence(answer) if answer is not None else None,
        server=info.server,
        machine=info.machine,
        tool=info.tool,
        command=info.command,
        started_epoch_us=info.started_epoch_us,
    )


def state_of(found: FoundRun) -> RunState:
    """What became of the command, or that nobody can read it."""
    if found.info is None:
        return RunState.DAMAGED
    if found.is_in_use:
        return RunState.RUNNING
    return RunState.FINISHED if found.answer is not None else RunState.UNFINISHED


def list_lines(runs: Sequence[RunOutput], now_epoch_us: int, width: int) -> Iterator[str]:
    """Two lines for each run: its facts, with the machine where there are several, and its answer; then how many."""
    machines = {machine_words(run.machine) for run in runs if run.machine is not None}
    rows = [_cells(run, now_epoch_us) for run in runs]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for run, (name, *facts) in zip(runs, rows, strict=True):
        cells = [name.ljust(widths[0]), *(cell.rjust(space) for cell, space in zip(facts, widths[1:], strict=True))]
        if len(machines) > 1 and run.machine is not None:
            cells.append(machine_words(run.machine))
        yield "   ".join(cells).rstrip()
        yield _cut(f"  {answer_text(run)}", width)
    yield f"{count(len(runs), 'run')}, {size(sum(run.size_bytes for run in runs))}"


def shown_lines(run: RunOutput, now_epoch_us: int) -> Iterator[str]:
    """All that a list leaves out, a row each."""
    rows = shown_rows(run, now_epoch_us)
    column = max(len(label) for label, _ in rows)
    yield from (f"{label:<{column}}   {text}" for label, text in rows)


def shown_rows(run: RunOutput, now_epoch_us: int) -> list[tuple[str, str]]:
    """The same as labels with their texts."""
    rows: list[tuple[str, str]] = [("run", run.path), ("answer", answer_text(run))]
    if run.kind is not None and run.started_epoch_us is not None:
        rows += [
            ("kind", run.kind.value),
            ("name", run.name or ""),
            ("server", run.server or ""),
            ("started", f"{time_words((now_epoch_us - run.started_epoch_us) / 1e6)} ago"),
            ("machine", f"{machine_words(run.machine)}, {run.machine.kernel}" if run.machine is not None else ""),
            ("pgclinic", run.tool.pgclinic if run.tool is not None else ""),
            ("command", shlex.join(run.command)),
        ]
    rows.append(("size", size(run.size_bytes)))
    if run.report is not None:
        rows.append(("report", run.report))
    rows += _following(run)
    return rows


def answer_text(run: RunOutput) -> str:
    """REPLICATED   updates-collapse 0.043x; without an answer why there is none."""
    if run.state is RunState.RUNNING:
        return "running"
    if run.answer is not None:
        return f"{run.answer.upper()}   {run.sentence}"
    return f"cannot be read: {run.problem}" if run.problem is not None else "no answer yet"


def _following(run: RunOutput) -> Iterator[tuple[str, str]]:
    """The commands that take the run up again: one without an answer is judged or resumed, a checkup is treated."""
    place = shlex.quote(run.path)
    if run.kind is RunKind.CHECKUP and run.answer is not None:
        yield "treat", f"pgclinic treat {place} --all -o treatment.sql"
    if run.state is RunState.UNFINISHED and run.kind in (RunKind.STUDY, RunKind.COMPARE):
        yield "judge", f"pgclinic study judge {place}"
    if run.state is RunState.UNFINISHED and run.kind in _RESUMED:
        yield "resume", f"pgclinic {_RESUMED[run.kind]} --resume {place}"


def _cells(run: RunOutput, now_epoch_us: int) -> tuple[str, str, str, str]:
    """Folder, kind, age and size."""
    started = run.started_epoch_us
    return (
        run.path.rpartition("/")[2],
        run.kind.value if run.kind is not None else "-",
        time_words((now_epoch_us - started) / 1e6) if started is not None else "-",
        size(run.size_bytes),
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3].rstrip()}..."
