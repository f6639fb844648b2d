"""What a slower statement owes its time to: what restores the old figure when it is switched back on the new version.

Only what a session may set can be tried: defaults that changed, planner switches that the old version does not have,
JIT, and kinds of plan nodes that are new in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.upgrade import SettingChange, SettingChangeKind, UpgradeCause, UpgradeCauseKind
from pgclinic.settings.catalog import SettingsCatalog
from pgclinic.settings.values import parse_bool
from pgclinic.sql.quoting import literal
from pgclinic.stats.summary import mean
from pgclinic.tune.upgrade.executions import ExecutionsSeen, Side, ValuedStatement, executed_in_turns

#: What a session may set for itself, and acts on one statement.
_OF_SESSIONS = frozenset(("user", "superuser"))
_OF_STATEMENTS = (
    "Query Tuning",
    "Resource Usage / Memory",
    "Resource Usage / Asynchronous Behavior",
    "Resource Usage / I/O",
)
_METHODS = "Query Tuning / Planner Method Configuration"
#: The switch of a kind of plan node.
_SWITCHES = {
    "Seq Scan": "enable_seqscan",
    "Index Scan": "enable_indexscan",
    "Index Only Scan": "enable_indexonlyscan",
    "Bitmap Heap Scan": "enable_bitmapscan",
    "Hash Join": "enable_hashjoin",
    "Merge Join": "enable_mergejoin",
    "Nested Loop": "enable_nestloop",
    "Memoize": "enable_memoize",
    "Materialize": "enable_material",
    "Sort": "enable_sort",
    "Incremental Sort": "enable_incremental_sort",
    "Gather": "max_parallel_workers_per_gather",
    "Gather Merge": "enable_gathermerge",
    "Tid Scan": "enable_tidscan",
}
#: So much of the logarithm of the slowdown has to come back.
RESTORED_MIN = 0.5
#: So much more has to come back by a switch that is tried later.
_BETTER = 0.1
_TURNS = 6


@dataclass(frozen=True)
class Switch:
    """One thing that can be switched back on the new version."""

    kind: UpgradeCauseKind
    settings: dict[str, str]

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(f"set local {name} = {literal(value)}" for name, value in self.settings.items())


def switches(
    before: SettingsCatalog,
    after: SettingsCatalog,
    changes: Sequence[SettingChange],
    old: ExecutionsSeen,
    new: ExecutionsSeen,
) -> tuple[Switch, ...]:
    """What to try for one statement, the likeliest cause first. Pure."""
    tried = (*_defaults(after, changes), *_features(before, after), *_jit(after, new), *_nodes(after, old, new))
    seen: dict[str, Switch] = {}
    for switch in tried:
        seen.setdefault(str(sorted(switch.settings.items())), switch)
    return tuple(seen.values())


def _defaults(after: SettingsCatalog, changes: Sequence[SettingChange]) -> Iterator[Switch]:
    for change in changes:
        setting = after.find(change.setting)
        if change.kind is not SettingChangeKind.DEFAULT or setting is None or change.before is None:
            continue
        if setting.context in _OF_SESSIONS and setting.category.startswith(_OF_STATEMENTS):
            kind = UpgradeCauseKind.JIT if setting.name == "jit" else UpgradeCauseKind.DEFAULT
            yield Switch(kind, {setting.name: change.before})


def _features(before: SettingsCatalog, after: SettingsCatalog) -> Iterator[Switch]:
    for setting in after.settings:
        if setting.category == _METHODS and before.find(setting.name) is None and _is_on(setting.boot_val):
            yield Switch(UpgradeCauseKind.FEATURE, {setting.name: "off"})


def _is_on(value: str | None) -> bool:
    try:
        return value is not None and parse_bool(value)
    except ValueError:
        return False


def _jit(after: SettingsCatalog, new: ExecutionsSeen) -> Iterator[Switch]:
    if new.uses_jit and after.find("jit") is not None:
        yield Switch(UpgradeCauseKind.JIT, {"jit": "off"})


def _nodes(after: SettingsCatalog, old: ExecutionsSeen, new: ExecutionsSeen) -> Iterator[Switch]:
    for node in sorted(new.nodes - old.nodes):
        name = _SWITCHES.get(node)
        if name is not None and after.find(name) is not None:
            yield Switch(UpgradeCauseKind.PLAN, {name: "0" if name.startswith("max_") else "off"})


@dataclass(frozen=True)
class Slowdown:
    """What one statement takes in ms per call before and after. ``is_stopped``: after so long it was stopped."""

    before_ms: float
    after_ms: float
    is_stopped: bool = False


def find_cause(
    side: Side,
    statement: ValuedStatement,
    slowdown: Slowdown,
    tried: Sequence[Switch],
    should_stop: Callable[[], bool],
) -> UpgradeCause | None:
    """The switch that takes back most of the slowdown; None where none takes back half. Raises QueryError.

    Of equally good ones it is the first.
    """
    best: UpgradeCause | None = None
    for switch in tried:
        if should_stop():
            break
        found = _tried(side, statement, slowdown, switch)
        if found is None or found.restored < RESTORED_MIN:
            continue
        if best is None or found.restored > best.restored + _BETTER:
            best = found
    return best


def _tried(side: Side, statement: ValuedStatement, slowdown: Slowdown, switch: Switch) -> UpgradeCause | None:
    """What is stopped without the switch is not executed without it again."""
    if slowdown.is_stopped:
        (with_it,) = executed_in_turns((side,), statement, turns_max=_TURNS, before=(switch.statements,))
        after_ms = slowdown.after_ms
    else:
        with_it, without = executed_in_turns((side, side), statement, turns_max=_TURNS, before=(switch.statements, ()))
        after_ms = mean(without.times_ms) if without.times_ms else 0.0
    if not with_it.runs or not with_it.times_ms or not after_ms:
        return None
    ms = mean(with_it.times_ms)
    return UpgradeCause(
        kind=switch.kind,
        settings=dict(switch.settings),
        ms=ms,
        ratio=ms / after_ms,
        restored=restored(slowdown, ms / after_ms),
    )


def restored(slowdown: Slowdown, ratio: float) -> float:
    """The share of the logarithm of the slowdown that a switch takes back which makes the time ``ratio`` as long."""
    whole = math.log(slowdown.after_ms / slowdown.before_ms)
    return -math.log(ratio) / whole if whole > 0 else 0.0
