"""postgresql.conf and pg_hba.conf as texts."""

from __future__ import annotations

from collections.abc import Mapping


def render_settings(settings: Mapping[str, str]) -> str:
    """Lines of a postgresql.conf. Every value is quoted: unquoted, the file refuses 1e300 or a list, which -c takes."""
    return "".join(f"{name} = {quoted(value)}\n" for name, value in settings.items())


def quoted(value: str) -> str:
    """A string of a configuration file; the server undoes doubled quotes and backslash escapes."""
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def render_access(*, password_method: str | None) -> str:
    """Lines of a pg_hba.conf: everybody who reaches the socket, and, with a method, who knows a password by TCP.

    The socket's directory keeps other accounts away; a TCP port cannot, so it never trusts.
    """
    lines = ["local all all trust", "local replication all trust"]
    if password_method is not None:
        lines.append(f"host all all 127.0.0.1/32 {password_method}")
    return "\n".join(lines) + "\n"
