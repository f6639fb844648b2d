"""The settings in question: of a file, of a live server, of a twin; and the workload that comes with them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgclinic.capture.twin import capture_twin
from pgclinic.cli.live import LiveLine
from pgclinic.cli.tuning_options import Asked
from pgclinic.errors import UsageError
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.sources import find_source
from pgclinic.observe.settings import changed_settings
from pgclinic.pg.reach import reach_dsn
from pgclinic.pg.session import Access
from pgclinic.report.capture_text import masked_text
from pgclinic.settings.conf_file import parse_conf
from pgclinic.settings.portable import portable_settings
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.kept_capture import find_capture, has_workload_of_now, keep_capture, with_workload_of
from pgclinic.twin.mask import mask_twin

#: How long the statements of a live server are counted for its twin.
OBSERVE_S = 20.0


@dataclass(frozen=True)
class Found:
    """``settings`` in question, and what is ``asked`` for with their workload; ``left_out`` are names."""

    settings: dict[str, str]
    asked: Asked
    left_out: tuple[str, ...] = ()


def settings_of_file(path: Path, asked: Asked) -> Found:
    """Those of a postgresql.conf. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8") from error
    return _here(parse_conf(text, str(path)), asked)


def settings_of_base(path: Path | None, asked: Asked, live: LiveLine) -> dict[str, str]:
    """Those of the file that others are compared with, none without one. Raises UsageError."""
    if path is None:
        return {}
    found = settings_of_file(path, asked)
    say_left_out(found, live)
    return found.settings


def say_left_out(found: Found, live: LiveLine) -> None:
    if found.left_out:
        live.close()
        print(f"pgclinic: left out, as the lab decides them: {', '.join(found.left_out)}", file=sys.stderr)


def settings_of_twin(path: Path, asked: Asked) -> Found:
    """Those of a twin's original; its workload runs unless there is another. Raises UsageError."""
    found = _here(read_twin(path).settings, asked)
    return replace(found, asked=asked if asked.has_traffic else replace(asked, twin=path))


def settings_of_server(dsn: str, asked: Asked, folder: Path, on_stage: Callable[[str], None]) -> Found:
    """Those of a live server, which is only read; without a workload of the user's own with a twin in ``folder``.

    Raises UsageError, QueryError.
    """
    on_stage("reading the settings")
    access = reach_dsn(dsn)
    version = asked.version or (str(access.major) if asked.bindir is None else None)
    found = _here(changed_settings(access), replace(asked, version=version))
    if asked.has_traffic:
        return found
    return replace(found, asked=replace(found.asked, twin=_twin_of(access, folder, on_stage)))


def _twin_of(access: Access, folder: Path, on_stage: Callable[[str], None]) -> Path:
    """The file of the server's twin with a workload of now: the one that an earlier command has kept, or a new one."""
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


def _here(settings: dict[str, str], asked: Asked) -> Found:
    """What a server of the version that is asked for may have of them. Raises UsageError, SourceError."""
    catalog = settings_catalog(find_source(asked.version, asked.bindir).ensure())
    portable = portable_settings(catalog, settings)
    return Found(portable.settings, asked, portable.left_out)
