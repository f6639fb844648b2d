"""The settings in question: of a file, of a live server, of a twin; and the workload that comes with them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgclinic.capture.twin import capture_twin
from pgclinic.cli.live import LiveView
from pgclinic.cli.options.server import LabServerOptions
from pgclinic.cli.options.workload import WorkloadOptions
from pgclinic.cli.output import say
from pgclinic.errors import UsageError
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.sources import find_source
from pgclinic.observe.settings import changed_settings
from pgclinic.pg.reach import reach_dsn
from pgclinic.pg.session import Access
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.settings.conf_file import parse_conf
from pgclinic.settings.portable import PortableSettings, portable_settings
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.kept_capture import find_capture, has_workload_of_now, keep_capture, with_workload_of
from pgclinic.twin.mask import mask_twin

#: How long the statements of a live server are counted for its twin.
OBSERVE_S = 20.0


@dataclass(frozen=True)
class SettingsInQuestion:
    """Settings that the lab may take over, and on which server with which workload they are tried."""

    portable: PortableSettings
    workload: WorkloadOptions
    server: LabServerOptions


def settings_of_file(path: Path, server: LabServerOptions) -> PortableSettings:
    """Return the settings of a postgresql.conf. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8") from error
    conf = parse_conf(text, str(path))
    return replace(_portable(conf.settings, server), included=conf.included)


def settings_of_base(path: Path | None, server: LabServerOptions, live: LiveView) -> dict[str, str]:
    """Return the settings of the file that others are compared with, none without one. Raises UsageError."""
    if path is None:
        return {}
    portable = settings_of_file(path, server)
    say_left_out(portable, live)
    return portable.settings


def say_left_out(portable: PortableSettings, live: LiveView) -> None:
    if portable.left_out or portable.included:
        live.clear()
    if portable.left_out:
        say(f"pgclinic: left out, as the lab decides them: {', '.join(portable.left_out)}")
    if portable.included:
        say(f"pgclinic: left out, as included files are not read: {', '.join(portable.included)}")


def settings_of_twin(path: Path, workload: WorkloadOptions, server: LabServerOptions) -> SettingsInQuestion:
    """Return the settings of a twin's original; its workload runs unless there is another. Raises UsageError."""
    portable = _portable(read_twin(path).settings, server)
    return SettingsInQuestion(portable, workload if workload.is_given else replace(workload, twin=path), server)


def settings_of_server(
    dsn: str, workload: WorkloadOptions, server: LabServerOptions, folder: Path, on_stage: Callable[[str], None]
) -> SettingsInQuestion:
    """Return the settings of a live server, which is only read.

    Without a workload of the user's own they are tried on a twin, which is written to ``folder``. Raises UsageError,
    QueryError.
    """
    on_stage("reading the settings")
    access = reach_dsn(dsn)
    if server.version is None and server.bindir is None:
        server = replace(server, version=str(access.major))
    portable = _portable(changed_settings(access), server)
    if not workload.is_given:
        workload = replace(workload, twin=_twin_of(access, folder, on_stage))
    return SettingsInQuestion(portable, workload, server)


def _twin_of(access: Access, folder: Path, on_stage: Callable[[str], None]) -> Path:
    """Return the file of the server's twin with a workload of now: one that an earlier command kept, or a new one."""
    on_stage("capturing a twin")
    kept = find_capture(access.server, capture_twin(access))
    path = folder / f"{access.server.database.replace('/', '_')}.twin"
    if kept is not None and has_workload_of_now(kept.twin, ()):
        shutil.copyfile(kept.path, path)
        return path
    on_stage("observing the clients of the server")
    captured = capture_twin(access, observe_s=OBSERVE_S)
    twin = with_workload_of(kept.twin, captured) if kept is not None else mask_twin(captured)
    write_twin(path, twin, masked_text=masked_text(twin), force=True)
    keep_capture(access.server, path)
    return path


def _portable(settings: dict[str, str], server: LabServerOptions) -> PortableSettings:
    """Return what a server of this version may have of the settings. Raises UsageError, SourceError."""
    catalog = settings_catalog(find_source(server.version, server.bindir).ensure())
    return portable_settings(catalog, settings)
