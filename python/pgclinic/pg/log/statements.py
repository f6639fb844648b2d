"""What statements cost: their durations, their plans, the temporary files they wrote."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from pgclinic.model.decoding import decoded_json
from pgclinic.model.log import LogEntry, PlanLogged, SlowStatement, TemporaryFile
from pgclinic.pg.log.amounts import from_milliseconds

Phase = Literal["statement", "parse", "bind", "execute", "fetch", "unknown"]
_DURATION = re.compile(r"duration: (\d{1,15}\.\d{1,6}) ms(?:  ([a-z]+)(?: (from ))?)?")
_NAME = re.compile(r" ?([^\n]*?): ")
_PHASES: dict[str, Phase] = {"statement": "statement", "parse": "parse", "bind": "bind", "execute": "execute"}
_PARAMETERS = re.compile(r"[Pp]arameters: ")
_TEMPORARY = re.compile(r'temporary file: path "([^\n]*)", size (\d+)')
_QUERY_TEXT = "Query Text: "
# The first line of a plan as text: a node and its cost.
_FIRST_NODE = re.compile(r"^\S[^\n]*  \(cost=\d", re.MULTILINE)
_TEXT_IDENTIFIER = re.compile(r"^Query Identifier: (-?\d{1,20})$", re.MULTILINE)
_XML = re.compile(
    r"<Query-Text>(.*?)</Query-Text>.*?(?:<Query-Identifier>(-?\d{1,20})</Query-Identifier>|\Z)", re.DOTALL
)
_YAML = re.compile(r'Query Text: ("(?:[^"\\]|\\.)*")')
_YAML_IDENTIFIER = re.compile(r"^\s*Query Identifier: (-?\d{1,20})$", re.MULTILINE)


class _JsonPlan(msgspec.Struct):
    text: str | None = msgspec.field(name="Query Text", default=None)
    identifier: int | None = msgspec.field(name="Query Identifier", default=None)


def duration_logged(entry: LogEntry) -> SlowStatement | PlanLogged | None:
    """A statement that took its time, or a plan by auto_explain: both begin with a duration."""
    match = _DURATION.match(entry.message)
    if match is None:
        return None
    duration_us, rest = from_milliseconds(match[1]), entry.message[match.end() :]
    if match[2] == "plan" and rest.startswith(":\n"):
        return _plan(entry, duration_us, rest.removeprefix(":\n"))
    if match[2] is None:
        return _statement(entry, duration_us, "unknown", None, None)
    phase, name = _PHASES.get(match[2]), _NAME.match(rest)
    if phase is None or name is None:
        return None
    fetch = phase == "execute" and rest.startswith(" fetch from ")
    words = name[1].removeprefix("fetch from ").strip()
    return _statement(entry, duration_us, "fetch" if fetch else phase, words or None, rest[name.end() :])


def temporary_file(entry: LogEntry) -> TemporaryFile | None:
    match = _TEMPORARY.match(entry.message)
    if match is None:
        return None
    return TemporaryFile(origin=entry.origin, path=match[1], size_bytes=int(match[2]), statement=entry.statement)


def _statement(entry: LogEntry, duration_us: int, phase: Phase, name: str | None, text: str | None) -> SlowStatement:
    detail = entry.detail or ""
    told = _PARAMETERS.match(detail)
    return SlowStatement(
        origin=entry.origin,
        duration_us=duration_us,
        phase=phase,
        name=None if name == "<unnamed>" else name,
        text=text,
        parameters=detail[told.end() :] if told else None,
    )


def _plan(entry: LogEntry, duration_us: int, plan: str) -> PlanLogged:
    """The query's id is that inside the plan, which VERBOSE plans have, or else that of the line.

    In the extended protocol a plan is logged when its portal goes, and the line may tell the next statement's id.
    """
    plan_format, text, identifier = _plan_parts(plan)
    return PlanLogged(
        origin=entry.origin,
        duration_us=duration_us,
        plan_format=plan_format,
        query_id=identifier or entry.origin.query_id,
        query_text=text,
        plan=plan,
    )


def _plan_parts(plan: str) -> tuple[Literal["text", "json", "xml", "yaml"], str | None, int | None]:
    if plan.startswith("{"):
        try:
            read = decoded_json(plan, _JsonPlan)
        except (msgspec.DecodeError, RecursionError):
            return "json", None, None
        return "json", read.text, read.identifier
    if plan.startswith("<explain"):
        xml = _XML.search(plan)
        return "xml", _unescaped(xml[1]) if xml else None, _whole(xml[2]) if xml else None
    if yaml := _YAML.match(plan):
        identifier = _YAML_IDENTIFIER.search(plan, yaml.end())
        return "yaml", _unquoted(yaml[1]), _whole(identifier[1]) if identifier else None
    node = _FIRST_NODE.search(plan)
    identifier = _TEXT_IDENTIFIER.search(plan, node.end() if node else 0)
    text = plan[: node.start()] if node else plan
    query = text.removeprefix(_QUERY_TEXT).split("\nQuery Parameters: ")[0].rstrip("\n")
    return "text", query if text.startswith(_QUERY_TEXT) else None, _whole(identifier[1]) if identifier else None


def _unescaped(text: str) -> str:
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&#x0d;", "\r"), ("&amp;", "&")):
        text = text.replace(entity, sign)
    return text


def _unquoted(text: str) -> str | None:
    try:
        return decoded_json(text, str)
    except msgspec.DecodeError:
        return None


def _whole(text: str | None) -> int | None:
    return int(text) if text else None
