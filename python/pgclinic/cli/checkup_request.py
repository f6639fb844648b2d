"""What ``pgclinic checkup`` was asked for, and what of it cannot be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pgclinic.cli.checkup import GRAPH_FORMS
from pgclinic.cli.checkup_exports import CheckupExports, check_exports
from pgclinic.cli.duration import parse_duration_s
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Severity
from pgclinic.store.checkup_folder import read_checkup

#: Of all proofs together: enough for a few of them.
_BUDGET = "10m"
_NOT_AT_ALL = frozenset({"0", "0s", "none"})


@dataclass(frozen=True)
class CheckupRequest:
    """The words of the command line. ``runs`` is None where no run folder is kept."""

    dsn: str | None = None
    snapshot: Path | None = None
    observe: str = "5s"
    observe_is_given: bool = False
    log: Path | None = None
    plans: bool = False
    major: int | None = None
    since: Path | None = None
    fail_on: str | None = None
    graph: str | None = None
    full: bool = False
    as_json: bool = False
    exports: CheckupExports = field(default_factory=CheckupExports)
    runs: Path | None = None
    prove: bool = False
    budget: str | None = None
    new_twin: bool = False


@dataclass(frozen=True)
class Checked:
    """A request that can be done: ``before`` is the checkup of ``--since``."""

    request: CheckupRequest
    observe_s: float
    fail_on: Severity | None
    before: Checkup | None
    budget_s: float


def check_request(request: CheckupRequest) -> Checked:
    """Find everything that is wrong with a request before a server is asked. Raises UsageError."""
    if request.major is not None:
        raise UsageError("--major needs --print-sql")
    if request.dsn is None and request.snapshot is None:
        raise UsageError(
            "no server is named", hint="pgclinic checkup postgresql://user@host/database, or --from snapshot.json"
        )
    if request.dsn is not None and request.snapshot is not None:
        raise UsageError("a server and --from are mutually exclusive")
    if request.snapshot is not None and request.observe_is_given:
        raise UsageError("--observe needs a server", hint="a snapshot was observed when it was taken, or was not")
    if request.graph is not None and request.graph not in GRAPH_FORMS:
        raise UnknownNameError("form of a graph", request.graph, GRAPH_FORMS)
    if request.log is not None and request.snapshot is not None:
        raise UsageError("--log needs a server", hint="the run folder of a checkup has what its log said")
    if request.log is not None and not request.log.exists():
        raise UsageError(f"--log: there is no file {request.log}")
    if request.plans and request.snapshot is not None:
        raise UsageError("--plans needs a server", hint="the run folder of a checkup has the plans that it asked for")
    if request.budget is not None and not request.prove:
        raise UsageError("--budget needs --prove")
    if request.new_twin and not request.prove:
        raise UsageError("--new-twin needs --prove")
    if request.prove and request.runs is None:
        raise UsageError("--prove and --no-run are mutually exclusive", hint="each proof keeps its run")
    check_exports(request.exports, as_json=request.as_json, graph=request.graph is not None)
    return Checked(
        request=request,
        observe_s=0.0 if request.observe.lower() in _NOT_AT_ALL else parse_duration_s(request.observe, "--observe"),
        fail_on=_severity(request.fail_on),
        before=read_checkup(request.since) if request.since is not None else None,
        budget_s=parse_duration_s(request.budget or _BUDGET, "--budget"),
    )


def _severity(word: str | None) -> Severity | None:
    if word is None:
        return None
    try:
        return Severity(word.lower())
    except ValueError:
        raise UnknownNameError("severity", word, [one.value for one in Severity]) from None
