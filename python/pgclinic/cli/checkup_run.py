"""``pgclinic checkup``: read the server or a snapshot, examine, keep, print."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.checkup.case import Case
from pgclinic.checkup.changes import compare_checkups
from pgclinic.checkup.examine import examine
from pgclinic.checkup.sent_statements import sent_statements
from pgclinic.cli.checkup_exports import write_exports
from pgclinic.cli.checkup_read import ReadServer, read_server
from pgclinic.cli.checkup_request import Checked, CheckupRequest
from pgclinic.cli.command_began import command_began_s
from pgclinic.cli.command_words import addresses_of, command_words
from pgclinic.errors import RunFailedError
from pgclinic.load.tool import this_tool
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.finding import Severity
from pgclinic.model.output import CheckupOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.version import NEWEST_MAJOR
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.changes_text import changes_text
from pgclinic.report.checkup_graph import graph_dot, graph_text
from pgclinic.report.checkup_text import CheckupPlaces, checkup_text
from pgclinic.report.checkup_view import render_checkup
from pgclinic.report.colour import colour_wanted
from pgclinic.report.statements_sent import statements_text
from pgclinic.report.visible import write_own
from pgclinic.store.checkup_folder import (
    read_checkup,
    read_examined,
    write_checkup,
    write_checkup_folder,
    write_checkup_report,
)
from pgclinic.store.machine import read_machine

FOUND = 5


@dataclass(frozen=True)
class _Outcome:
    """``folder`` and ``report`` are None where nothing is kept; ``problem`` is why what should be kept is not."""

    checkup: Checkup
    changes: Changes | None
    folder: Path | None
    report: Path | None = None
    problem: RunFailedError | None = None


def print_statements(request: CheckupRequest) -> None:
    """Every statement that a checkup sends, with the part of it that the statement is for."""
    major = reach_dsn(request.dsn).major if request.dsn is not None else request.major or NEWEST_MAJOR
    sent = sent_statements(major)
    if request.as_json:
        rows = [{"part": one.part, "sql": one.sql, "values": one.values} for one in sent]
        print(msgspec.json.encode(rows).decode())
    else:
        print(statements_text(sent, major), end="")


def run_checkup(checked: Checked) -> int:
    """The whole command; its exit code."""
    request, began_s = checked.request, command_began_s()
    if request.snapshot is not None:
        read = _stored(request.snapshot)
    else:
        assert request.dsn is not None
        read = read_server(request.dsn, observe_s=checked.observe_s, log=request.log, plans=request.plans)
    examined = read.examined
    case = Case(examined.snapshot, host=examined.host, log=examined.log)
    outcome = _kept(checked, read, case, examine(case, server=read.place), began_s)
    _show(request, outcome)
    if outcome.problem is not None:
        raise outcome.problem
    return exit_code(outcome.checkup, checked.fail_on)


def _stored(path: Path) -> ReadServer:
    """A snapshot, or what a checkup has kept; the folder of one says where its server was."""
    return ReadServer(read_examined(path), read_checkup(path).server if path.is_dir() else str(path))


def exit_code(checkup: Checkup, fail_on: Severity | None) -> int:
    """5 if a finding is at least that severe."""
    if fail_on is None:
        return 0
    return FOUND if any(one.severity.rank >= fail_on.rank for one in checkup.findings) else 0


def _kept(checked: Checked, read: ReadServer, case: Case, checkup: Checkup, began_s: float) -> _Outcome:
    """Prove, and write the run folder. What cannot be stored is printed all the same."""
    request, before = checked.request, checked.before
    if request.runs is None or (request.snapshot is not None and not request.prove):
        return _Outcome(checkup, _changes(before, checkup), None)
    folder, info = None, _run_info(checked, checkup)
    try:
        folder = write_checkup_folder(request.runs, info, read.examined)
        write_checkup(folder, checkup)
        if request.prove:
            # The lab takes longer to load than a checkup takes.
            from pgclinic.cli.checkup_prove import prove_checkup

            checkup = prove_checkup(
                checkup,
                case,
                read,
                folder,
                budget_s=checked.budget_s,
                began_s=began_s,
                command=info.command,
                uses_kept_twin=not request.new_twin,
            )
            write_checkup(folder, checkup)
        changes = _changes(before, checkup)
        page = render_checkup(checkup, read.examined.snapshot, changes, str(folder))
        return _Outcome(checkup, changes, folder, write_checkup_report(folder, page))
    except RunFailedError as error:
        return _Outcome(checkup, _changes(before, checkup), folder, problem=error)


def _changes(before: Checkup | None, checkup: Checkup) -> Changes | None:
    return compare_checkups(before, checkup) if before is not None else None


def _run_info(checked: Checked, checkup: Checkup) -> RunInfo:
    return RunInfo(
        command=command_words(addresses_of([checked.request.dsn])),
        kind=RunKind.CHECKUP,
        name=checkup.database,
        seed=0,
        profile="checkup",
        budget_s=checked.budget_s if checked.request.prove else 0.0,
        server=checkup.server,
        started_epoch_us=round((time.time() - checkup.took_s) * 1e6),
        machine=read_machine(),
        tool=this_tool(),
    )


def _show(request: CheckupRequest, outcome: _Outcome) -> None:
    """What stdout gets: an export, JSON, the graph, or the text."""
    folder = str(outcome.folder) if outcome.folder is not None else None
    report = str(outcome.report) if outcome.report is not None else None
    to_stdout = write_exports(request.exports, outcome.checkup, outcome.changes, report)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif request.as_json:
        output = CheckupOutput(run=folder, report=report, checkup=outcome.checkup, changes=outcome.changes)
        print(msgspec.json.encode(output).decode())
    elif request.graph is not None:
        print((graph_dot if request.graph == "dot" else graph_text)(outcome.checkup))
    else:
        _print_text(request, outcome, CheckupPlaces(folder=folder, report=report))


def _print_text(request: CheckupRequest, outcome: _Outcome, places: CheckupPlaces) -> None:
    width = min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
    colour = colour_wanted(sys.stdout, os.environ)
    text = checkup_text(outcome.checkup, places, full=request.full, colour=colour, width=width)
    # Its colours are our own; what it quotes has been made visible.
    write_own(sys.stdout, text + "\n")
    if outcome.changes is not None:
        print()
        print(changes_text(outcome.changes))
