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
from pgclinic.load.engine import builtin_scripts
from pgclinic.model.load import Script
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.dsn import without_password
from pgclinic.study.toml_text import file_text, toml_of

KEYS = ("version", "bindir", "dsn", "script", "schema", "clients")
GROUPS = ("set", "var", "condition")
CONDITIONS = ("held", "idle", "checkpoint")
BUILTIN = "builtin:"


@dataclass(frozen=True)
class ArmAsked:
    """What makes one arm different; everything unset is what both have. ``words`` say it again, without secrets."""

    version: str | None = None
    bindir: Path | None = None
    dsn: str | None = None
    scripts: tuple[Script, ...] = ()
    schema: str | None = None
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


def read_arm_file(path: Path) -> tuple[str, ...]:
    """The pairs that an arm's TOML file says: version = "17", [set] work_mem = "4MB". Raises UsageError."""
    raw = toml_of(file_text(path, None), str(path))
    pairs: list[str] = []
    for key, value in raw.items():
        if isinstance(value, dict):
            if key not in GROUPS:
                raise UnknownNameError("table", key, GROUPS, where=str(path))
            pairs.extend(f"{key}:{name}={_text(one)}" for name, one in value.items())
        else:
            pairs.extend(f"{key}={_text(one)}" for one in (value if isinstance(value, list) else [value]))
    return tuple(pairs)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_script(text: str) -> Script:
    """``file.sql@3`` or ``builtin:select-only`` -> a script with its weight. Raises UsageError."""
    name, at, weight = text.rpartition("@")
    if not at or not re.fullmatch(r"[0-9]{1,9}", weight):
        name, weight = text, "1"
    if int(weight) < 1:
        raise UsageError(f"script {text!r}: a weight is at least 1")
    if name.startswith(BUILTIN):
        return _builtin(name.removeprefix(BUILTIN), int(weight))
    return Script(name=name, text=read_text(name, "script"), weight=int(weight))


def read_text(name: str, what: str) -> str:
    """The text of a file that the user named. Raises UsageError that says ``what`` it was for."""
    try:
        return file_text(Path(name), what)
    except UsageError as error:
        raise UsageError(error.message, hint=_file_hint(name, what)) from error


def _file_hint(name: str, what: str) -> str | None:
    names = [builtin.name for builtin in builtin_scripts()] if what == "script" else []
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {BUILTIN}{close[0]}?" if close else None


def _builtin(name: str, weight: int) -> Script:
    matches = [builtin for builtin in builtin_scripts() if name and builtin.name.startswith(name)]
    if len(matches) != 1:
        raise UnknownNameError("builtin script", name, [builtin.name for builtin in builtin_scripts()])
    return Script(name=matches[0].name, text=matches[0].text, weight=weight)


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
        raise UsageError(f"{option} var:{name}: that is no name of a variable")
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
        case _:
            raise UnknownNameError("condition", name, CONDITIONS, where=option)


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
        raise UsageError(f"{option}: {' and '.join(servers)} exclude each other")


def _shown(pair: str) -> str:
    return "dsn=..." if pair.strip().startswith("dsn") else pair


def _word(key: str, value: str) -> str:
    """The pair as it may be shown: addresses without passwords."""
    return f"{key}={without_password(value)}" if key == "dsn" else f"{key}={value}"
