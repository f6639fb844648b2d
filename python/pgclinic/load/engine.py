"""The door to the load engine: LoadSpec in, LoadResult out. The only file that imports the Rust module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import msgspec

from pgclinic import _load
from pgclinic.errors import LoadError, UsageError
from pgclinic.load.open_files import allow_clients
from pgclinic.model.decoding import converted, decoded_json
from pgclinic.model.load import LoadResult, LoadSpec, Protocol, Script
from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.model.record import Record

ALLOW_DEBUG_ENGINE = "PGCLINIC_ALLOW_DEBUG_ENGINE"

Stopper = _load.Stopper
#: The rows of one table of a new TPC-C database as blocks of a binary COPY, from (table, warehouses, seed).
TpccRows = _load.TpccRows
#: The rows of a twin as blocks of a COPY in text form, from a plan as JSON (model/row_plan.py).
TwinRows = _load.TwinRows


class BuildInfo(Record):
    """Which engine is built in. ``io`` are the ways to move bytes that it knows, best first."""

    version: str
    profile: str
    io: tuple[str, ...]


def build_info() -> BuildInfo:
    return converted(_load.build_info(), BuildInfo)


class BuiltinScript(Record):
    """A script that pgbench brings along. ``description`` is what stands for it in reports."""

    name: str
    description: str
    text: str


def builtin_scripts() -> tuple[BuiltinScript, ...]:
    """In pgbench's order."""
    return tuple(
        BuiltinScript(name=name, description=description, text=text) for name, description, text in _load.builtins()
    )


def refuse_debug_engine() -> None:
    """Raise LoadError when the engine was built without optimisation: it would measure itself."""
    if build_info().profile != "release" and not os.environ.get(ALLOW_DEBUG_ENGINE):
        raise LoadError(
            f"the load engine is a {build_info().profile} build; its figures would be its own, not the server's",
            hint="build the release engine: make build",
        )


def check_script(name: str, text: str, protocol: Protocol) -> None:
    """Parse one script without running it. Raises UsageError with name, line, column and token."""
    try:
        _load.check_script(name, text, protocol.value)
    except _load.SpecError as error:
        raise UsageError(str(error)) from None


class ScriptCommand(Record):
    """A command of a script that the server or, without ``parts``, the shell executes.

    ``parts`` is the SQL between its variables, one more than there are variables. ``statements`` counts those that
    ``\\;`` joins; a ``conditional`` command stands between ``\\if`` and ``\\endif``. ``line`` counts from 1.
    """

    line: int
    conditional: bool
    parts: tuple[str, ...] | None
    statements: int


def script_commands(script: Script, protocol: Protocol) -> tuple[ScriptCommand, ...]:
    """All SQL and shell commands of a script, in their order. Raises UsageError as ``check_script`` does."""
    try:
        outlined = _load.outline_script(script.name, script.text, protocol.value)
    except _load.SpecError as error:
        raise UsageError(str(error)) from None
    return tuple(
        ScriptCommand(
            line=line,
            conditional=conditional,
            parts=None if parts is None else tuple(parts),
            statements=statements,
        )
        for line, conditional, parts, statements in outlined
    )


def shell_commands(scripts: Iterable[Script], protocol: Protocol) -> tuple[tuple[str, int], ...]:
    """The script and the line of every ``\\shell`` and ``\\setshell``."""
    return tuple(
        (script.name, command.line)
        for script in scripts
        for command in script_commands(script, protocol)
        if command.parts is None
    )


def run_load(
    spec: LoadSpec,
    *,
    on_progress: Callable[[LoadProgress], None] | None = None,
    stopper: Stopper | None = None,
    should_stop: Callable[[], bool] | None = None,
    is_warm: Callable[[], bool] | None = None,
    on_event: Callable[[LoadEvent], None] | None = None,
) -> LoadResult:
    """Run one load and wait for its end; other threads go on meanwhile.

    ``on_progress`` is called once a second by this thread, ``should_stop`` at least every 100 ms: True ends the load as
    ``stopper`` does, with what was measured so far as the result. ``is_warm`` is called after each second of the
    warm-up: True ends it at a whole second to come, before ``spec.warm_up_s`` have passed. With ``spec.events``
    ``on_event`` is called as soon as something happens. Ctrl-C and errors of the
    callbacks end the load and are raised. Raises UsageError for a spec that cannot be run
    or needs more open files than allowed, LoadError when the engine
    could not do its work.
    """
    refuse_debug_engine()
    allow_clients(spec.clients, spec.threads)

    def progress(text: str) -> None:
        if on_progress is not None:
            on_progress(decoded_json(text, LoadProgress))

    def event(text: str) -> None:
        if on_event is not None:
            on_event(decoded_json(text, LoadEvent))

    try:
        text = _load.run(msgspec.json.encode(spec).decode(), progress, stopper, should_stop, is_warm, event)
    except _load.SpecError as error:
        raise UsageError(str(error)) from None
    except _load.RunError as error:
        raise LoadError(str(error)) from error
    return decoded_json(text, LoadResult)
