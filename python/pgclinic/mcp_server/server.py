"""The server of the Model Context Protocol over stdin and stdout: the only module that knows the SDK."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import anyio
import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from pgclinic import __version__
from pgclinic.errors import PgclinicError, UnknownNameError, UsageError
from pgclinic.mcp_server.tools import Tools, error_text
from pgclinic.model.decoding import converted
from pgclinic.model.record import Record
from pgclinic.model.tool_answer import (
    DATA_NOTE,
    CheckupAsked,
    FindingsAnswer,
    FindingsAsked,
    ProgressAnswer,
    ReportAnswer,
    ReportAsked,
    RunAsked,
    RunsAnswer,
    RunsAsked,
    VerdictAnswer,
)
from pgclinic.report.parts.visible import visible, visible_values

_INSTRUCTIONS = (
    "pgclinic finds out why a PostgreSQL server is slow and proves it by experiments. These tools read its kept runs, "
    "and where the server was started with --allow-run they start checkups of services that are named in the "
    f"connection service file. No tool runs SQL or changes a server. {DATA_NOTE}"
)
#: A checkup that cannot begin says so within this time, which is then the answer of start_checkup.
_FIRST_WORDS_S = 5.0
_POLL_S = 0.1
#: Of names that somebody sends, so much is repeated.
_NAME_CHARS = 80


@dataclass(frozen=True)
class _Tool:
    """One tool: its texts, its arguments and answer, and what it does. ``acts`` is whether it does more than read."""

    name: str
    description: str
    asked: type[Record]
    answer: type[Record]
    run: Callable[[Any], Record]
    acts: bool = False

    def declared(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=object_schema(self.asked),
            output_schema=object_schema(self.answer),
            annotations=types.ToolAnnotations(
                read_only_hint=not self.acts, destructive_hint=False, open_world_hint=self.acts
            ),
        )


def _all_tools(tools: Tools) -> dict[str, _Tool]:
    allowed = "" if tools.checkups is not None else " This server is read-only: the tool only says how to allow it."
    every = (
        _Tool(
            "list_runs",
            "List the kept runs, the newest first: name, command, answer, server.",
            RunsAsked,
            RunsAnswer,
            tools.list_runs,
        ),
        _Tool(
            "read_findings",
            "Read the findings of a checkup: what is wrong, its evidence, cost, treatment and proof.",
            FindingsAsked,
            FindingsAnswer,
            tools.read_findings,
        ),
        _Tool(
            "read_verdict",
            "Read the answer of a run: its word and sentence, its claims with ratios and 95 % CI, its doubts.",
            RunAsked,
            VerdictAnswer,
            tools.read_verdict,
        ),
        _Tool(
            "read_report",
            "Read the report of a run as Markdown or JSON, page by page.",
            ReportAsked,
            ReportAnswer,
            tools.read_report,
        ),
        _Tool(
            "follow_run",
            "Read where a run stands: its stage, what it has found or judged so far. Call it again to follow.",
            RunAsked,
            ProgressAnswer,
            tools.follow_run,
        ),
        _Tool(
            "start_checkup",
            f"Start a checkup of a service by its name. The server is only read. follow_run follows it.{allowed}",
            CheckupAsked,
            ProgressAnswer,
            tools.start_checkup,
            acts=True,
        ),
        _Tool(
            "stop_checkup",
            f"End a checkup that start_checkup has started; what it has found is kept.{allowed}",
            RunAsked,
            ProgressAnswer,
            tools.stop_checkup,
            acts=True,
        ),
    )
    return {one.name: one for one in every}


def serve_stdio(tools: Tools) -> None:
    """Answer until the client closes stdin, or a signal comes; then end the checkups that were started."""
    # The SDK logs what clients send.
    logging.getLogger("mcp").setLevel(logging.ERROR)

    def end_checkups() -> None:
        if tools.checkups is not None:
            tools.checkups.end_all()

    def leave(number: int, _: FrameType | None) -> NoReturn:
        # A thread of the SDK reads stdin, and nothing ends it while the client keeps that open.
        end_checkups()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)
    try:
        anyio.run(_serve, tools)
    finally:
        end_checkups()


async def _serve(tools: Tools) -> None:
    server = _server(tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _server(tools: Tools) -> Server[Any]:
    known = _all_tools(tools)
    # A client that asks for much at once waits for its own answers: one report at a time is in memory.
    one_reader = anyio.CapacityLimiter(1)

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[one.declared() for one in known.values()])

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool = known.get(params.name)
            if tool is None:
                raise UnknownNameError("tool", params.name[:_NAME_CHARS], known)
            asked = read_arguments(tool.asked, params.arguments or {})
            if tool.name == "start_checkup":
                # In this thread: the kernel tells a process of the end of the thread that started it.
                answer = await _first_words(tools, tool.run(asked))
            else:
                answer = await anyio.to_thread.run_sync(partial(tool.run, asked), limiter=one_reader)
        except PgclinicError as error:
            return types.CallToolResult(content=[_text(error_text(error))], is_error=True)
        except OSError as error:
            return types.CallToolResult(content=[_text(f"a file cannot be read: {error.strerror}")], is_error=True)
        shown = visible_values(msgspec.to_builtins(answer))
        return types.CallToolResult(content=[_text(msgspec.json.encode(shown).decode())], structured_content=shown)

    return Server(
        "pgclinic",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _first_words(tools: Tools, begun: Record) -> Record:
    """What a checkup is after a moment: one that cannot connect has failed by then."""
    assert isinstance(begun, ProgressAnswer)
    answer = begun
    with anyio.move_on_after(_FIRST_WORDS_S):
        while answer.state in ("starting", "running"):
            await anyio.sleep(_POLL_S)
            answer = tools.follow_run(RunAsked(run=begun.run))
    if answer.state == "failed":
        said = [line for line in answer.untrusted.messages if line.startswith("pgclinic: ")]
        words = said[-1].removeprefix("pgclinic: ") if said else "its command has ended"
        raise UsageError(f"the checkup of the service cannot be made: {words}")
    return answer


def read_arguments(kind: type[Record], arguments: Mapping[str, Any]) -> Record:
    """The record that the arguments make. Raises UsageError, UnknownNameError."""
    for name in arguments:
        if name not in kind.__struct_fields__:
            raise UnknownNameError("argument", name[:_NAME_CHARS], kind.__struct_fields__)
    try:
        return converted(dict(arguments), kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"an argument cannot be used: {error}") from error


def object_schema(kind: type[Record]) -> dict[str, Any]:
    """The JSON schema of a record with the object itself at its root, as the protocol wants it."""
    schema = msgspec.json.schema(kind)
    definitions = dict(schema["$defs"])
    own = definitions.pop(kind.__name__)
    return {**own, **({"$defs": definitions} if definitions else {})}


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=visible(text))
