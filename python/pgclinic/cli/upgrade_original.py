"""What an upgrade begins with: an original, as a twin, and the releases before and after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.live import LiveView
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.errors import UsageError
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.lab.sources import find_source
from pgclinic.model.twin import Twin
from pgclinic.model.version import NEWEST_MAJOR, parse_version
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.tune.upgrade.original import captured_file
from pgclinic.twin.file import read_twin


@dataclass(frozen=True)
class Original:
    """The twin and its file; both releases."""

    twin: Twin
    path: Path
    before: ChosenServer
    after: ChosenServer


def original_of(request: UpgradeRequest, live: LiveView) -> Original:
    """Return the twin and both releases. Raises UsageError for what cannot be an upgrade."""
    if request.original is None:
        raise UsageError("name a server or a twin", hint="pgclinic upgrade shop.twin --to 18")
    if request.to is not None and request.bindir is not None:
        raise UsageError("--to and --bindir are mutually exclusive: a directory has one version")
    to = request.to if request.to is not None or request.bindir is not None else str(NEWEST_MAJOR)
    # An unknown version is refused before anything is captured.
    target = parse_version(find_source(to, request.bindir).version)
    named = f"--to {to}" if to is not None else f"{target} of --bindir"
    path = _file(request, live)
    twin = read_twin(path)
    original = parse_version(twin.version)
    if original.major > target.major:
        raise UsageError(
            f"the original is PostgreSQL {twin.version}, which is newer than {named}",
            hint="name the version to upgrade to; pg_upgrade cannot go back",
        )
    wish = request.from_ if request.from_ is not None else original.branch
    source = parse_version(find_source(wish).version)
    if source > target:
        raise UsageError(f"--from {wish} is newer than {named}")
    before = choose_server(ServerAsked(version=wish), on_stage=live.stage)
    after = choose_server(ServerAsked(version=to, bindir=request.bindir), on_stage=live.stage)
    return Original(twin, path, before, after)


def _file(request: UpgradeRequest, live: LiveView) -> Path:
    named = request.original or ""
    if named.endswith(".twin") or Path(named).is_file():
        return Path(named)
    observe_s = parse_duration_s(request.observe, "--observe")
    return captured_file(reach_dsn(named), observe_s, masked_text, live.stage)


def dsn_of(request: UpgradeRequest) -> str | None:
    named = request.original or ""
    return None if named.endswith(".twin") or Path(named).is_file() else named
