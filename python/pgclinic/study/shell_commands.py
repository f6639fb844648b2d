"""Whether a study may run commands of the shell: its file may come from anybody."""

from __future__ import annotations

from pgclinic.errors import UsageError
from pgclinic.load.engine import shell_commands
from pgclinic.model.study import Profile, Study
from pgclinic.study.expand import resolve_arm


def refuse_shell_commands(study: Study, profile: Profile, *, allowed: bool) -> None:
    """Raise UsageError for a script with ``\\shell`` or ``\\setshell``, unless the user has allowed them."""
    if allowed:
        return
    for name in study.arms:
        if name not in profile.measure_s:
            continue
        workload = resolve_arm(study, profile, name, {}).workload
        for script, line in shell_commands(workload.scripts, workload.protocol):
            raise UsageError(
                f"script {script}, line {line} runs a command of the shell",
                hint="read the script first; --allow-shell lets it run commands on this machine",
            )
