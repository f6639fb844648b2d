"""``pgclinic checkup``: read the server or a snapshot, examine, keep, print."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pgclinic.checkup.case import Case
from pgclinic.cli.checkup import CheckupRequest
from pgclinic.cli.checkup_check import CheckedRequest, check_request
from pgclinic.cli.checkup_read import ReadServer, read_server
from pgclinic.cli.exit_codes import FOUND
from pgclinic.cli.exports import write_exports
from pgclinic.cli.output import is_coloured, print_coloured, print_json, text_columns
from pgclinic.cli.this_command import addresses_of, command_began_s, command_words
from pgclinic.errors import RunFailedError
from pgclinic.load.tool import this_tool
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.model.finding import Severity
from pgclinic.model.output import CheckupOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.version import NEWEST_MAJOR
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.reported import ReportedCheckup
from pgclinic.store.checkup_folder import (
    read_checkup,
    read_examined,
    write_checkup,
    write_checkup_folder,
)
from pgclinic.store.directory_lock import ASKED_S, directory_lock
from pgclinic.store.machine import read_machine
from pgclinic.store.private_folder import write_private_report


@dataclass(frozen=True)
class _KeptCheckup:
    """``folder`` and ``report`` are None where nothing is kept; ``problem`` is why what should be kept is not."""

    checkup: Checkup
    changes: Changes | None
    folder: Path | None
    report: Path | None = None
    problem: RunFailedError | None = None


def run_checkup(request: CheckupRequest) -> int:
    """Examine the server, or print what would be sent to it, and return the exit code."""
    from pgclinic.checkup.examine import examine

    if request.print_sql:
        _print_statements(request)
        return 0
    checked, began_s = check_request(request), command_began_s()
    if request.snapshot is not None:
        read = _stored(request.snapshot)
    else:
        assert request.dsn is not None
        read = read_server(
            request.dsn, observe_s=checked.observe_s, log=request.log, plans=request.plans, plain=request.plain
        )
    examined = read.examined
    case = Case(examined.snapshot, host=examined.host, log=examined.log)
    kept = _kept(checked, read, case, examine(case, server=read.place), began_s)
    _show(request, kept, examined.snapshot, checked.fail_on)
    if kept.problem is not None:
        raise kept.problem
    return exit_code(kept.checkup, checked.fail_on)


def _print_statements(request: CheckupRequest) -> None:
    """Print every statement that a checkup sends, with the part of it that the statement is for."""
    from pgclinic.checkup.sent_statements import sent_statements
    from pgclinic.report.exports.statements_sent import statements_text

    major = reach_dsn(request.dsn).major if request.dsn is not None else request.major or NEWEST_MAJOR
    sent = sent_statements(major)
    if request.as_json:
        print_json([{"part": statement.part, "sql": statement.sql, "values": statement.values} for statement in sent])
    else:
        print(statements_text(sent, major), end="")


def _stored(path: Path) -> ReadServer:
    """Return a snapshot, or what a checkup has kept; the folder of one says where its server was."""
    return ReadServer(read_examined(path), read_checkup(path).server if path.is_dir() else str(path))


def exit_code(checkup: Checkup, fail_on: Severity | None) -> int:
    """Return 5 if a finding is at least that severe."""
    if fail_on is None:
        return 0
    return FOUND if any(finding.severity.rank >= fail_on.rank for finding in checkup.findings) else 0


def _kept(checked: CheckedRequest, read: ReadServer, case: Case, checkup: Checkup, began_s: float) -> _KeptCheckup:
    """Prove, write the run folder, and return what is kept. What cannot be stored is printed all the same."""
    request, before, prove = checked.request, checked.before, checked.request.proofs.prove
    if request.no_run or (request.snapshot is not None and not prove):
        return _KeptCheckup(checkup, _changes(before, checkup), None)
    folder, info = None, _run_info(checked, checkup)
    in_use = ExitStack()
    try:
        folder = write_checkup_folder(request.runs, info, read.examined, request.run_name)
        in_use.enter_context(directory_lock(folder, wait=False, patience_s=ASKED_S))
        write_checkup(folder, checkup)
        if prove:
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
                request=request,
            )
            write_checkup(folder, checkup)
        from pgclinic.report.kinds import checkup_page

        changes = _changes(before, checkup)
        page = checkup_page(ReportedCheckup(checkup, read.examined.snapshot, changes, str(folder)))
        return _KeptCheckup(checkup, changes, folder, write_private_report(folder, page))
    except RunFailedError as error:
        return _KeptCheckup(checkup, _changes(before, checkup), folder, problem=error)
    finally:
        in_use.close()


def _changes(before: Checkup | None, checkup: Checkup) -> Changes | None:
    from pgclinic.checkup.changes import compare_checkups

    return compare_checkups(before, checkup) if before is not None else None


def _run_info(checked: CheckedRequest, checkup: Checkup) -> RunInfo:
    return RunInfo(
        command=command_words(addresses_of([checked.request.dsn])),
        kind=RunKind.CHECKUP,
        name=checkup.database,
        seed=0,
        profile="checkup",
        budget_s=checked.budget_s if checked.request.proofs.prove else 0.0,
        server=checkup.server,
        started_epoch_us=round((time.time() - checkup.took_s) * 1e6),
        machine=read_machine(),
        tool=this_tool(),
    )


def _show(request: CheckupRequest, kept: _KeptCheckup, snapshot: Snapshot, fail_on: Severity | None) -> None:
    """Print what stdout gets: an export, JSON, the graph, or the text."""
    from pgclinic.report.sections.causes.text import graph_dot, graph_text
    from pgclinic.report.sections.changes.text import changes_text
    from pgclinic.report.sections.findings.text import CheckupPlaces, checkup_text

    checkup, changes = kept.checkup, kept.changes
    folder = str(kept.folder) if kept.folder is not None else None
    report = str(kept.report) if kept.report is not None else None
    to_stdout = _exported(request.exports.places, ReportedCheckup(checkup, snapshot, changes, folder), fail_on)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif request.as_json:
        print_json(CheckupOutput(run=folder, report=report, checkup=checkup, changes=changes))
    elif request.graph is not None:
        print((graph_dot if request.graph == "dot" else graph_text)(checkup))
    else:
        places = CheckupPlaces(folder=folder, report=report)
        print_coloured(checkup_text(checkup, places, full=request.full, colour=is_coloured(), width=text_columns()))
        if changes is not None:
            print()
            print(changes_text(changes))


def _exported(places: Mapping[str, str], checkup: ReportedCheckup, fail_on: Severity | None) -> str | None:
    """Write what was asked for, and return what goes to stdout instead of the text."""
    if not places:
        return None
    from pgclinic.report.exports.junit_answers import checkup_junit_xml
    from pgclinic.report.exports.prometheus import prometheus
    from pgclinic.report.kinds import checkup_markdown

    texts = {
        "--prometheus": lambda: prometheus(checkup.checkup),
        "--junit": lambda: checkup_junit_xml(checkup.checkup, fail_on),
        "--markdown": lambda: checkup_markdown(checkup),
    }
    return write_exports(places, texts)
