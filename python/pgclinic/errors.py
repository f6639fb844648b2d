"""Every error that pgclinic raises on purpose.

PgclinicError
 +-- UsageError          the user asked for something that cannot be had (exit 1)
 |    +-- UnknownNameError    a name that is not known; carries the nearest known one
 |    +-- StudyFileError      a study file that cannot be used; names the key
 |    +-- SettingError        a setting that this server would refuse; names the setting
 |    +-- ServerFullError     an existing server has no connection to spare
 +-- RunFailedError      the request was fine, the run was not (exit 2)
      +-- ServerStartError    a server refused to start; carries its own last words
      +-- ServerLostError     a server that was running is gone
      +-- SourceError         no binaries of that version could be had
      +-- LoadError           the load engine could not do its work
      +-- WorkloadError       no transaction of a load can succeed; names the script, its line and the server's message
      +-- DiskFullError       no room where the lab or a run keeps its files
      +-- MachineBusyError    another command measured on this machine for as long as there was time
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PgclinicError(Exception):
    """Base of all errors raised on purpose. ``hint`` says what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PgclinicError):
    exit_code = 1


class UnknownNameError(UsageError):
    """A name that is not among the known ones.

    ``what`` is the kind of thing ("study", "key"), ``known`` all valid names; the message ends with the nearest one.
    ``nearest`` overrides what counts as near where spelling says nothing, as with version numbers.
    """

    def __init__(
        self, what: str, name: str, known: Iterable[str], *, where: str | None = None, nearest: str | None = None
    ) -> None:
        names = sorted(set(known))
        close = [nearest] if nearest else difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        place = f"{where}: " if where else ""
        if close:
            hint = f"did you mean {close[0]}?"
        elif names and len(names) <= 12:
            hint = "known: " + ", ".join(names)
        else:
            hint = None
        super().__init__(f"{place}unknown {what} {name!r}", hint=hint)
        self.name = name
        self.nearest = close[0] if close else None


class StudyFileError(UsageError):
    pass


class SettingError(UsageError):
    pass


class ServerFullError(UsageError):
    pass


class RunFailedError(PgclinicError):
    exit_code = 2


class ServerStartError(RunFailedError):
    """``log_line`` is the server's own last word, ``setting`` the setting to blame where it names one."""

    def __init__(
        self, message: str, *, log_line: str | None = None, setting: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.log_line = log_line
        self.setting = setting


class ServerLostError(RunFailedError):
    pass


class SourceError(RunFailedError):
    pass


class LoadError(RunFailedError):
    pass


class WorkloadError(RunFailedError):
    pass


class DiskFullError(RunFailedError):
    pass


class MachineBusyError(RunFailedError):
    pass
