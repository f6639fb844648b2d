"""Everything that can be wrong before the first measurement is found here: settings, scripts, data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from pgclinic.errors import UsageError
from pgclinic.lab.settings import check_settings
from pgclinic.lab.sources import attach
from pgclinic.load.engine import check_script, refuse_debug_engine, shell_commands
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.load import Protocol, Script
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.study import Profile, Study
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.pg.session_settings import check_session_settings, with_settings
from pgclinic.study.inheritance import inherited_arm
from pgclinic.trial.script_check import Load, check_on_template, check_scripts, load_of
from pgclinic.trial.server import author_of, binaries_of, template_of

_TO_READ_WRITE = re.compile(
    r"\bread\s+write\b|\bset\b[^;]*\b(default_)?transaction_read_only\b"
    r"|\bset_config\s*\(\s*'(default_)?transaction_read_only",
    re.IGNORECASE,
)


def refuse_shell_commands(study: Study, profile: Profile, *, allowed: bool) -> None:
    """Raise UsageError for a script with ``\\shell`` or ``\\setshell``, unless the user has allowed them.

    A study file may come from anybody.
    """
    if allowed:
        return
    for name in study.arms:
        if name not in profile.measure_s:
            continue
        workload = inherited_arm(study, profile, name).workload
        _refuse_shell(workload.scripts, workload.protocol)


def refuse_stored_shell_commands(plan: ExperimentPlan, *, allowed: bool) -> None:
    """The same for the run of a folder, by what its arms send: nobody knows whether that is what its study says."""
    for arm in () if allowed else plan.arms.values():
        if isinstance(arm.traffic, ScriptTraffic):
            _refuse_shell(arm.traffic.scripts, arm.load.protocol)


def _refuse_shell(scripts: Iterable[Script], protocol: Protocol) -> None:
    for script, line in shell_commands(scripts, protocol):
        raise UsageError(
            f"script {script}, line {line} runs a command of the shell",
            hint="read the script first; --allow-shell lets it run commands on this machine",
        )


def prepare(plan: ExperimentPlan, addresses: Mapping[str, str], on_stage: Callable[[str], None]) -> None:
    """Fetch programs, check scripts and every arm's settings, fill the templates.

    ``addresses`` are the whole addresses of attached servers by those without secrets.

    Raises UsageError (settings, scripts), SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    refuse_debug_engine()
    for arm in plan.arms.values():
        if isinstance(arm.traffic, ScriptTraffic):
            for script in arm.traffic.scripts:
                check_script(script.name, script.text, arm.load.protocol)
    ours = [arm for arm in plan.arms.values() if arm.server.dsn is None]
    for arm in plan.arms.values():
        if arm.server.dsn is not None:
            _check_attached(plan.study.name, arm, addresses.get(arm.server.dsn, arm.server.dsn))
    for arm in ours:
        check_settings(binaries_of(arm.server), arm.settings)
    if ours:
        on_stage("preparing the data")
    checked = set()
    for arm in ours:
        binaries = binaries_of(arm.server)
        template = template_of(binaries, arm.dataset, on_stage)
        load = _scripted(arm)
        if (template, load) not in checked:
            on_stage("checking the scripts")
            check_on_template(binaries, template, load, author_of(arm.dataset))
            checked.add((template, load))


def _scripted(arm: ArmSpec) -> Load:
    scripts = arm.traffic.scripts if isinstance(arm.traffic, ScriptTraffic) else ()
    return load_of(scripts, arm.load.protocol, arm.condition, arm.settings)


def _check_attached(study: str, arm: ArmSpec, dsn: str) -> None:
    if arm.server.existing:
        _refuse_fill(study, arm)
        if not arm.server.allow_writes:
            _refuse_writes(arm)
    if not arm.settings and not arm.server.existing:
        return
    access = attach(dsn)
    if arm.settings:
        check_session_settings(access, arm.settings)
    if arm.server.existing:
        load = _scripted(arm)
        check_scripts(with_settings(access, arm.settings), load.scripts, load.protocol, load.others)


def _refuse_fill(study: str, arm: ArmSpec) -> None:
    if isinstance(arm.dataset, SqlDataset):
        raise UsageError(
            f"{study} fills tables of its own, and on an existing database nothing is created",
            hint="omit --existing: each trial then has a database of its own",
        )


def _refuse_writes(arm: ArmSpec) -> None:
    """What the server itself would not refuse in a session that begins read-only, or refuses only in mid-trial."""
    hint = "--allow-writes lets the load change the tables of the existing database"
    if not isinstance(arm.traffic, ScriptTraffic):
        raise UsageError("TPC-C writes to its tables", hint=hint)
    for script in arm.traffic.scripts:
        if _TO_READ_WRITE.search(script.text):
            raise UsageError(f"{script.name} asks for transactions that write", hint=hint)
