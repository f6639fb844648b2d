"""What of a request for a checkup cannot be done: all of it is found before a server is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pgclinic.cli.checkup import GRAPH_FORMS, CheckupRequest
from pgclinic.cli.duration import parse_duration_or_none_s, parse_duration_s
from pgclinic.cli.exports import check_places
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.live_export.target import parse_targets
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Severity
from pgclinic.store.checkup_folder import read_checkup

_OBSERVE = "5s"
#: Of all proofs together: enough for a few of them.
_BUDGET = "10m"
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")


@dataclass(frozen=True)
class CheckedRequest:
    """A request that can be done: ``before`` is the checkup of ``--since``."""

    request: CheckupRequest
    observe_s: float
    fail_on: Severity | None
    before: Checkup | None
    budget_s: float


def check_request(request: CheckupRequest) -> CheckedRequest:
    """Return the request with its words read. Raises UsageError for everything that is wrong with it."""
    if request.major is not None:
        raise UsageError("--major needs --print-sql")
    _check_source(request)
    _check_proofs(request)
    _check_run_name(request)
    if request.graph is not None and request.graph not in GRAPH_FORMS:
        raise UnknownNameError("form of a graph", request.graph, GRAPH_FORMS)
    exports = request.exports
    printing = ["--json"] * request.as_json + ["--graph"] * (request.graph is not None)
    # Metrics are written anew each time, by a cron job.
    check_places(exports.places, force=exports.force, on_stdout=printing, replaced=["--prometheus"])
    return CheckedRequest(
        request=request,
        observe_s=parse_duration_or_none_s(_OBSERVE if request.observe is None else request.observe, "--observe"),
        fail_on=_severity(request.fail_on),
        before=read_checkup(request.since) if request.since is not None else None,
        budget_s=parse_duration_s(request.proofs.budget or _BUDGET, "--budget"),
    )


def _check_source(request: CheckupRequest) -> None:
    """Raise UsageError unless there is one server or one snapshot, and nothing is asked that only a server knows."""
    if request.dsn is None and request.snapshot is None:
        raise UsageError(
            "no server is named", hint="pgclinic checkup postgresql://user@host/database, or --from snapshot.json"
        )
    if request.dsn is not None and request.snapshot is not None:
        raise UsageError("a server and --from are mutually exclusive")
    if request.snapshot is not None:
        if request.observe is not None:
            raise UsageError("--observe needs a server", hint="a snapshot was observed when it was taken, or was not")
        if request.log is not None:
            raise UsageError("--log needs a server", hint="the run folder of a checkup has what its log said")
        if request.plans:
            hint = "the run folder of a checkup has the plans that it asked for"
            raise UsageError("--plans needs a server", hint=hint)
    if request.log is not None and not request.log.exists():
        raise UsageError(f"--log: there is no file {request.log}")


def _check_proofs(request: CheckupRequest) -> None:
    proofs = request.proofs
    if proofs.budget is not None and not proofs.prove:
        raise UsageError("--budget needs --prove")
    if proofs.new_twin and not proofs.prove:
        raise UsageError("--new-twin needs --prove")
    if parse_targets(proofs.export) and not proofs.prove:
        raise UsageError("--export needs --prove", hint="--prometheus FILE writes the findings of a checkup")
    if proofs.prove and request.no_run:
        raise UsageError("--prove and --no-run are mutually exclusive", hint="each proof keeps its run")


def _check_run_name(request: CheckupRequest) -> None:
    """Raise UsageError for a name that is not that of one new folder below --runs."""
    name = request.run_name
    if name is None:
        return
    if request.no_run:
        raise UsageError("--run-name and --no-run are mutually exclusive")
    if _RUN_NAME.fullmatch(name) is None:
        raise UsageError(
            f"--run-name {name!r} is not the name of a folder", hint="use letters, digits, dots, - and _: shop-before"
        )
    if (request.runs / name).exists():
        raise UsageError(f"--run-name: {request.runs / name} exists already", hint="choose another name")


def _severity(word: str | None) -> Severity | None:
    if word is None:
        return None
    try:
        return Severity(word.lower())
    except ValueError:
        raise UnknownNameError("severity", word, [severity.value for severity in Severity]) from None
