"""What is switched back for a slower statement, and in which order."""

from __future__ import annotations

from pgclinic.model.upgrade import SettingChange, SettingChangeKind, UpgradeCauseKind
from pgclinic.settings.catalog import Setting, SettingsCatalog
from pgclinic.tune.upgrade.causes import Slowdown, restored, switches
from pgclinic.tune.upgrade.executions import ExecutionsSeen

METHODS = "Query Tuning / Planner Method Configuration"


def setting(name: str, boot_val: str, category: str = METHODS, context: str = "user") -> Setting:
    vartype = "bool" if boot_val in ("on", "off") else "real"
    return Setting(name=name, context=context, vartype=vartype, category=category, boot_val=boot_val)


OLD = SettingsCatalog(version="14.1", major=14, settings=(setting("enable_hashjoin", "on"), setting("jit", "off")))
NEW = SettingsCatalog(
    version="18.1",
    major=18,
    settings=(
        *(setting("enable_hashjoin", "on"), setting("enable_presorted_aggregate", "on"), setting("enable_new", "off")),
        *(setting("hash_mem_multiplier", "2", "Resource Usage / Memory"), setting("jit", "on", "Query Tuning / Other")),
        *(setting("shared", "2", "Resource Usage / Memory", "postmaster"), setting("logged", "2", "Reporting")),
    ),
)
CHANGES = tuple(
    SettingChange(setting=name, kind=SettingChangeKind.DEFAULT, before="1", after="2")
    for name in ("hash_mem_multiplier", "shared", "logged")
)
PLAIN = ExecutionsSeen(nodes=frozenset({"Seq Scan"}))


def tried(new: ExecutionsSeen) -> list[tuple[UpgradeCauseKind, dict[str, str]]]:
    return [(one.kind, one.settings) for one in switches(OLD, NEW, CHANGES, PLAIN, new)]


def test_defaults_come_before_new_switches_of_the_planner() -> None:
    assert tried(PLAIN) == [
        (UpgradeCauseKind.DEFAULT, {"hash_mem_multiplier": "1"}),
        (UpgradeCauseKind.FEATURE, {"enable_presorted_aggregate": "off"}),
    ]


def test_nodes_of_the_new_plan_and_jit_come_last() -> None:
    new = ExecutionsSeen(nodes=frozenset({"Seq Scan", "Hash Join", "Hash"}), uses_jit=True)
    assert tried(new)[2:] == [
        (UpgradeCauseKind.JIT, {"jit": "off"}),
        (UpgradeCauseKind.PLAN, {"enable_hashjoin": "off"}),
    ]


def test_a_switch_is_set_in_the_transaction_of_the_statement() -> None:
    first = switches(OLD, NEW, CHANGES, PLAIN, PLAIN)[0]
    assert first.statements == ("set local hash_mem_multiplier = '1'",)


def test_what_a_switch_takes_back_is_a_share_of_the_logarithm() -> None:
    assert restored(Slowdown(1.0, 16.0), 1 / 4) == 0.5
    assert restored(Slowdown(1.0, 16.0), 1 / 16) == 1.0
    assert restored(Slowdown(1.0, 16.0), 2.0) < 0.0
    assert restored(Slowdown(1.0, 1.0), 0.5) == 0.0
