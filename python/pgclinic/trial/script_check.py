"""The SQL of scripts, parsed by a real server before anything is measured; nothing of it is executed.

Refused is only what is certain to fail. A statement that may depend on what the script itself does (tables it makes,
names held in variables, branches of ``\\if``) is left to the first trial.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import PgclinicError, ServerStartError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import ScriptCommand, script_commands
from pgclinic.model.load import Protocol, Script
from pgclinic.model.study import Condition
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, ParseFault, Session

_SYNTAX = "42601"
#: Undefined table, column, schema: certain wherever nothing makes them first.
_UNDEFINED = frozenset(("42P01", "42703", "3F000"))
#: A function that is not there may only lack a cast of what a variable will hold.
_UNDEFINED_FUNCTION = "42883"
#: Statements that neither make objects nor change where names are looked up.
# fmt: off
_MAKES_NOTHING = frozenset((
    "abort", "analyze", "begin", "checkpoint", "close", "commit", "copy", "declare", "delete", "end", "explain",
    "fetch", "insert", "listen", "lock", "merge", "notify", "release", "rollback", "savepoint", "select", "show",
    "start", "table", "truncate", "update", "vacuum", "values", "with",
))
# fmt: on
#: Settings that decide how SQL is read, besides those of extensions.
_PARSING = frozenset(
    (
        "backslash_quote",
        "local_preload_libraries",
        "search_path",
        "session_preload_libraries",
        "shared_preload_libraries",
        "standard_conforming_strings",
        "transform_null_equals",
    )
)
#: For a server on which nothing is executed.
QUICK_SETTINGS = {"fsync": "off", "autovacuum": "off", "max_wal_senders": "0", "wal_level": "minimal"}
_WORD = re.compile(r"\w+")
_COMMENTS = re.compile(r"\s+|--[^\n]*|/\*.*?\*/", re.DOTALL)
_TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class _Variant:
    """A statement with something in the place of its variables; ``gaps`` are where these stand."""

    text: str
    gaps: tuple[tuple[int, int], ...]

    def touches_gap(self, position: int) -> bool:
        """Whether the word at ``position`` is, or borders on, what stands for a variable."""
        end = position
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in '_$."'):
            end += 1
        end = max(end, position + 1)
        return any(first <= end and position <= last for first, last in self.gaps)


@dataclass(frozen=True)
class Load:
    """What an arm's clients send and under which settings it is parsed; equal ones need one check."""

    scripts: tuple[Script, ...]
    protocol: Protocol
    others: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]


def load_of(scripts: Sequence[Script], protocol: Protocol, condition: Condition, settings: Mapping[str, str]) -> Load:
    """The scripts with what runs beside them, and those of an arm's settings that decide how SQL is read."""
    others = tuple(step.sql for step in condition.steps)
    read_by = {name: value for name, value in settings.items() if name in _PARSING or "." in name}
    return Load(tuple(scripts), protocol, others, tuple(sorted(read_by.items())))


def check_on_template(binaries: Binaries, template: Path, load: Load, author: str | None = None) -> None:
    """Raise UsageError as ``check_scripts`` does, on a server of the lab made for it from a filled template.

    ``author`` is the role that owns what is in it, where that is a twin.

    A server that does not start under these settings refuses nothing: that is its arm's own failure.
    """
    if not load.scripts:
        return
    try:
        with start_server(binaries, settings=QUICK_SETTINGS | dict(load.settings), template=template) as running:
            check_scripts(Access(running.server, author=author), load.scripts, load.protocol, load.others)
    except ServerStartError:
        return


def check_scripts(access: Access, scripts: Sequence[Script], protocol: Protocol, others: Sequence[str] = ()) -> None:
    """Raise UsageError with script, line and the server's message for a statement that can only fail.

    ``access`` is a server with the data in it; ``others`` is SQL that runs beside the scripts. A server that cannot be
    asked refuses nothing.
    """
    commands = {script.name: script_commands(script, protocol) for script in scripts}
    try:
        with Session(
            access.of_author,
            statement_timeout_ms=_TIMEOUT_MS,
            application_name="pgclinic-check",
            users_search_path=True,
        ) as session:
            every = [command for own in commands.values() for command in own]
            names_settled = _names_settled(session, access.major, every, others)
            for name, own in commands.items():
                for command in own:
                    fault = _certain_fault(session, command, protocol, names_settled=names_settled)
                    if fault is not None:
                        raise UsageError(f"script {name}, line {command.line}: {fault.message} ({fault.sqlstate})")
    except UsageError:
        raise
    except PgclinicError:
        return


def _certain_fault(
    session: Session, command: ScriptCommand, protocol: Protocol, *, names_settled: bool
) -> ParseFault | None:
    if command.parts is None or command.conditional:
        return None
    variants = [_variant(command.parts, "${}")]
    if protocol is Protocol.SIMPLE and len(command.parts) > 1:
        # There a variable is text and need not be a value.
        variants.append(_variant(command.parts, "1"))
    faults = []
    for variant in variants:
        fault = session.parse(variant.text)
        if fault is None:
            return None
        faults.append(fault)
    exact = protocol is not Protocol.SIMPLE or len(variants) == 1
    for fault, variant in zip(faults, variants, strict=True):
        if _is_certain(fault, variant, faults, exact=exact, names_settled=names_settled):
            return fault
    return None


def _is_certain(
    fault: ParseFault, variant: _Variant, faults: Sequence[ParseFault], *, exact: bool, names_settled: bool
) -> bool:
    if fault.position is None:
        # Among them: several statements in one, which the simple protocol allows.
        return False
    if fault.sqlstate == _SYNTAX:
        before_any = all(fault.position < first for first, _ in variant.gaps)
        return exact or (before_any and not variant.touches_gap(fault.position))
    if not names_settled:
        return False
    if fault.sqlstate == _UNDEFINED_FUNCTION:
        return exact
    if fault.sqlstate not in _UNDEFINED:
        return False
    agreed = len({(one.sqlstate, one.message) for one in faults}) == 1
    return exact or (agreed and not variant.touches_gap(fault.position))


def _variant(parts: Sequence[str], stands: str) -> _Variant:
    text, gaps = parts[0], []
    for number, part in enumerate(parts[1:], start=1):
        value = stands.format(number)
        gaps.append((len(text), len(text) + len(value)))
        text += value + part
    return _Variant(text, tuple(gaps))


def _names_settled(session: Session, major: int, commands: Sequence[ScriptCommand], others: Sequence[str]) -> bool:
    """Whether nothing that the load runs can make a table or change where names are found."""
    if any(command.parts is None for command in commands):
        return False
    texts = [":".join(command.parts or ()) for command in commands] + list(others)
    if not all(_makes_nothing(statement) for text in texts for statement in text.split(";")):
        return False
    words = {word.lower() for text in texts for word in _WORD.findall(text)}
    with session.catalog_only():
        functions = {str(name).lower() for (name,) in session.rows(query("volatile_functions", major))}
    return not words & functions


def _makes_nothing(statement: str) -> bool:
    """An empty statement makes nothing; one whose first word is a variable may be anything."""
    words = [word.lower() for word in _WORD.findall(_COMMENTS.sub(" ", statement).lstrip(" ("))]
    if not words:
        return not statement.strip().startswith(":")
    into = words[0] in ("select", "with", "table") and "into" in words and "insert" not in words
    return words[0] in _MAKES_NOTHING and not into and not statement.lstrip().startswith(":")
