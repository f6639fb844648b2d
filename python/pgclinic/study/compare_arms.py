"""One arm of a comparison, from words such as ``version=17`` and ``set:work_mem=64MB``, or from a file of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replace_record

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.load.script_argument import parse_script
from pgclinic.model.load import Script
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.dsn import without_password
from pgclinic.study.replay import read_recording, replaying
from pgclinic.study.toml_lines import TomlPlace
from pgclinic.study.toml_text import file_text, toml_of

KEYS = ("version", "bindir", "dsn", "script", "schema", "clients")
GROUPS = ("set", "var", "condition")
#: What is done to the data of both arms: a statement, or a file of statements.
CHANGES = ("index", "schema")
_CHANGE = re.compile(rf"\s*({'|'.join(CHANGES)}):")
_CREATE_INDEX = re.compile(r"create\s+(unique\s+)?index\b", re.IGNORECASE)
CONDITIONS = ("held", "idle", "checkpoint", "replay")


@dataclass(frozen=True)
class ArmAsked:
    """What makes one arm different; everything unset is what both have. ``words`` say it again, without secrets.

    ``changes`` is SQL that is run on the data of both before anything is measured.
    """

    version: str | None = None
    bindir: Path | None = None
    dsn: str | None = None
    scripts: tuple[Script, ...] = ()
    schema: str | None = None
    changes: tuple[str, ...] = ()
    clients: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    condition: Condition = field(default_factory=Condition)
    words: tuple[str, ...] = ()


def parse_arm(pairs: Iterable[str], option: str) -> ArmAsked:
    """``KEY=VALUE`` words -> an arm; ``option`` (``--a``) names them in errors.

    Raises UnknownNameError for keys, holders and builtin scripts; UsageError for anything else that cannot be.
    """
    arm = ArmAsked()
    seen: set[str] = set()
    for pair in pairs:
        if (change := _CHANGE.match(pair)) is not None:
            arm = _with_change(arm, change[1], pair[change.end() :].strip(), option)
            continue
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or not value:
            raise UsageError(
                f"{option} {_shown(pair)!r} is not KEY=VALUE",
                hint=f"write {option} version=17, {option} set:work_mem=4MB",
            )
        if key in seen and key != "script":
            raise UsageError(f"{option} {key} is given twice")
        seen.add(key)
        arm = _with(arm, key, value, option)
    _check(arm, option)
    return arm


def _with_change(arm: ArmAsked, kind: str, value: str, option: str) -> ArmAsked:
    """The arm with an index more, or with what a file of statements does."""
    if not value:
        raise UsageError(f"{option} {kind}: is empty", hint=f'write {option} index:"create index on orders (customer)"')
    if kind == "index" and _CREATE_INDEX.match(value) is None:
        raise UsageError(
            f"{option} index: takes a CREATE INDEX statement, not {value[:40]!r}",
            hint=f"{option} schema:FILE runs any statements on the data",
        )
    statement = value.rstrip(";").rstrip() + ";" if kind == "index" else read_text(value, "schema")
    return replace(arm, changes=(*arm.changes, statement), words=(*arm.words, f"{kind}:{value}"))


def read_arm_file(path: Path) -> tuple[str, ...]:
    """The pairs that an arm's TOML file says: version = "17", [set] work_mem = "4MB". Raises UsageError."""
    text = file_text(path, None)
    raw = toml_of(text, str(path))
    pairs: list[str] = []
    for key, value in raw.items():
        if isinstance(value, dict):
            if key not in GROUPS:
                raise UnknownNameError("table", key, GROUPS, where=str(TomlPlace(str(path), text, (key,))))
            pairs.extend(f"{key}:{name}={_text(one)}" for name, one in value.items())
        else:
            pairs.extend(f"{key}={_text(one)}" for one in (value if isinstance(value, list) else [value]))
    return tuple(pairs)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_text(name: str, what: str) -> str:
    """The text of a file that the user named. Raises UsageError that says ``what`` it was for."""
    return file_text(Path(name), what)


def _with(arm: ArmAsked, key: str, value: str, option: str) -> ArmAsked:
    arm = replace(arm, words=(*arm.words, _word(key, value)))
    group, _, name = key.partition(":")
    if group in GROUPS and name:
        return _with_named(arm, group, name, value, option)
    if key not in KEYS:
        raise _unknown_key(key, option)
    return replace(arm, **_taken(arm, key, value, option))


def _taken(arm: ArmAsked, key: str, value: str, option: str) -> dict[str, Any]:
    """The field that a key without a name fills."""
    match key:
        case "script":
            return {"scripts": (*arm.scripts, parse_script(value))}
        case "schema":
            return {"schema": read_text(value, "schema")}
        case "clients":
            return {"clients": _whole(value, 1, f"{option} clients")}
        case "bindir":
            return {"bindir": Path(value)}
        case _:
            return {key: value}


def _with_named(arm: ArmAsked, group: str, name: str, value: str, option: str) -> ArmAsked:
    if group == "set":
        return replace(arm, settings=arm.settings | {name: value})
    if group == "var":
        return replace(arm, variables=arm.variables | {_variable(name, option): value})
    return replace(arm, condition=_condition(arm.condition, name, value, option))


def _unknown_key(key: str, option: str) -> UnknownNameError:
    group, colon, name = key.partition(":")
    if colon:
        return UnknownNameError("key", key, [f"{known}:{name or 'NAME'}" for known in GROUPS], where=option)
    known = [*KEYS, *(f"condition:{name}" for name in CONDITIONS)]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if key in CONDITIONS:
        close = [f"condition:{key}"]
    # What is none of ours is most likely a setting.
    return UnknownNameError("key", key, known, where=option, nearest=close[0] if close else f"set:{group}")


def _variable(name: str, option: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        raise UsageError(f"{option} var:{name} is not a valid variable name")
    return name


def _condition(condition: Condition, name: str, value: str, option: str) -> Condition:
    match name:
        case "held":
            known = [holder.value for holder in Holder]
            if value not in known:
                raise UnknownNameError("holder", value, known, where=f"{option} condition:held")
            return replace_record(condition, horizon_held_by=Holder(value))
        case "idle":
            return replace_record(condition, idle_sessions=_whole(value, 0, f"{option} condition:idle"))
        case "checkpoint":
            return replace_record(condition, checkpoint_every_s=_seconds(value, f"{option} condition:checkpoint"))
        case "replay":
            return _replayed(condition, value, option)
        case _:
            raise UnknownNameError("condition", name, CONDITIONS, where=option)


def _replayed(condition: Condition, value: str, option: str) -> Condition:
    """``FILE`` or ``FILE@60``: a recorded horizon in its own time, or the whole of it in so many seconds."""
    file, at, time = value.rpartition("@")
    if not at:
        file, time = value, ""
    replay_s = _seconds(time, f"{option} condition:replay") if at else None
    condition = replace_record(condition, replay_horizon=file, replay_s=replay_s)
    return replaying(condition, read_recording(Path(file)))


def _whole(text: str, low: int, what: str) -> int:
    if not text.isdigit() or int(text) < low:
        raise UsageError(f"{what}={text} must be a whole number, at least {low}")
    return int(text)


def _seconds(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{what}={text} must be a number of seconds above 0")
    return value


def _check(arm: ArmAsked, option: str) -> None:
    servers = [
        name
        for name, value in (("version", arm.version), ("bindir", arm.bindir), ("dsn", arm.dsn))
        if value is not None
    ]
    if len(servers) > 1:
        raise UsageError(f"{option}: {' and '.join(servers)} are mutually exclusive")


def _shown(pair: str) -> str:
    return "dsn=..." if pair.strip().startswith("dsn") else pair


def _word(key: str, value: str) -> str:
    """The pair as it may be shown: addresses without passwords."""
    return f"{key}={without_password(value)}" if key == "dsn" else f"{key}={value}"
