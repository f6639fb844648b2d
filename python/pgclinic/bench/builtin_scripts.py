"""How the scripts that pgbench brings along are listed and shown."""

from __future__ import annotations

from pgclinic.load.engine import BuiltinScript, builtin_scripts


def list_text() -> str:
    """What ``-b list`` prints."""
    lines = [f"{builtin.name:>15}: {builtin.description}" for builtin in builtin_scripts()]
    return "\n".join(["Available builtin scripts:", *lines, ""])


def script_text(builtin: BuiltinScript) -> str:
    """What ``--show-script`` prints."""
    return f"-- {builtin.name}: {builtin.description}\n{builtin.text}"
