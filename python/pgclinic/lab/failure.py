"""Why a server did not start or is gone, in its own words."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

from pgclinic.errors import ServerStartError
from pgclinic.lab.logs import log_files

_SEVERITY = re.compile(r"\b(PANIC|FATAL|ERROR|LOG|WARNING|HINT|DETAIL|CONTEXT|STATEMENT): +(.*)")
_TAIL_BYTES = 64 * 1024
_SUMS_UP = ("contains errors", "could not create any")
_ROUTINE = ("starting PostgreSQL", "listening on", "redirecting log output", "Future log output", "ending log output")
_TO_CLIENTS = ("the database system is ", "terminating connection ")
_KILLED = "was terminated by signal"
_WAS_KILLED = "was killed by "
_REFUSED_VALUE = re.compile(
    r"invalid value for parameter|unrecognized configuration parameter|outside the valid range|contains errors|"
    r"requires a (?:Boolean|numeric) value|Unrecognized key word|syntax error in file"
)
_NO_ROOM = ("No space left on device", "Disk quota exceeded")


def log_tail(log_path: Path, data_dir: Path) -> list[str]:
    """The last lines of everything the server logged; the logging collector moves the end to data/log."""
    lines: list[str] = []
    for path in log_files(log_path, data_dir):
        try:
            with path.open("rb") as stream:
                stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
                lines += stream.read().decode(errors="replace").splitlines()
        except OSError:
            continue
    return lines


def last_words(lines: list[str]) -> tuple[str | None, str]:
    """The line that tells why (the last PANIC or FATAL, else the last line), and it with its details and hints."""
    fatal = None
    for position, line in enumerate(lines):
        match = _SEVERITY.search(line)
        if match and match[1] in ("PANIC", "FATAL") and not match[2].startswith(_TO_CLIENTS):
            fatal = position
    if fatal is None:
        killed = [line for line in lines if _KILLED in line]
        if killed:
            return killed[0], killed[0]
        complaints = [line for line in lines if (match := _SEVERITY.search(line)) is None or match[1] != "LOG"]
        last = (complaints or lines)[-1:]
        return (last[0], last[0]) if last else (None, "")
    around = [lines[fatal]]
    for line in lines[fatal + 1 :]:
        match = _SEVERITY.search(line)
        if match is None or match[1] not in ("HINT", "DETAIL"):
            break
        around.append(line)
    # Some only sum up what the lines before have told.
    told_before = []
    if any(words in lines[fatal] for words in _SUMS_UP):
        told_before = [line for line in lines[max(0, fatal - 4) : fatal] if not any(word in line for word in _ROUTINE)]
    return (told_before or around)[0], "\n".join(told_before + around)


def blamed_setting(text: str, settings: Mapping[str, str], known: Iterable[str]) -> str | None:
    """The setting that a message names: one the user gave, one whose value it quotes, else any known one."""
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", text))
    for name in settings:
        if name in words or ("_" in name and name.replace("_", " ") in text):
            return name
    for name, value in settings.items():
        if len(value) > 1 and f'"{value}' in text:
            return name
    told = set(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", text.partition("\n")[0]))
    return next((name for name in known if "_" in name and name in told), None)


def killed_by(number: int) -> str:
    """How a server ended that a signal of this number ended while it started."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{_WAS_KILLED}{name} while it started; the last line of its log"


def start_error(
    version: str, lines: list[str], settings: Mapping[str, str], known: Iterable[str], reason: str
) -> ServerStartError:
    """The error for a server that did not start; ``reason`` says how it ended."""
    line, text = last_words(lines)
    if _KILLED in text:
        reason = "did not start"
    # What a server was doing when it was killed says nothing about its settings.
    was_killed = reason.startswith(_WAS_KILLED) or _KILLED in text
    setting = None if was_killed else blamed_setting(text, settings, known)
    said = _SEVERITY.search(line or "")
    message = f"PostgreSQL {version} {reason}: {said[2] if said else line or 'it logged nothing'}"
    hint = None
    if was_killed:
        hint = "the kernel kills processes when memory runs out, and logs it (dmesg)"
    if setting is not None:
        hint = f"the setting to blame: {setting}" + (f" = {settings[setting]!r}" if setting in settings else "")
    return ServerStartError(message, log_line=line, setting=setting, hint=hint)


def refused_a_value(error: ServerStartError) -> bool:
    """Whether the server read its settings and refused one, before it tried to start with them."""
    return error.log_line is not None and _REFUSED_VALUE.search(error.log_line) is not None


def ran_out_of_room(lines: list[str]) -> bool:
    return any(words in line for line in lines for words in _NO_ROOM)
