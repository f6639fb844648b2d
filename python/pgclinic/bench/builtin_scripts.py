"""The scripts that pgbench brings along, as the engine knows them."""

from __future__ import annotations

from pgclinic.errors import UsageError
from pgclinic.load.engine import BuiltinScript, builtin_scripts


def find_builtin(prefix: str) -> BuiltinScript:
    """The only builtin whose name begins so. Raises UsageError."""
    matches = [builtin for builtin in builtin_scripts() if builtin.name.startswith(prefix)]
    if not matches:
        names = ", ".join(builtin.name for builtin in builtin_scripts())
        raise UsageError(f'no builtin script found for name "{prefix}"', hint=f"known: {names}")
    if len(matches) > 1:
        raise UsageError(f'ambiguous builtin name: {len(matches)} builtin scripts found for prefix "{prefix}"')
    return matches[0]


def list_text() -> str:
    """What ``-b list`` prints."""
    lines = [f"{builtin.name:>15}: {builtin.description}" for builtin in builtin_scripts()]
    return "\n".join(["Available builtin scripts:", *lines, ""])


def script_text(builtin: BuiltinScript) -> str:
    """What ``--show-script`` prints."""
    return f"-- {builtin.name}: {builtin.description}\n{builtin.text}"
