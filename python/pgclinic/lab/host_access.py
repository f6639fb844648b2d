"""pg_hba.conf of a lab server."""

from __future__ import annotations


def render_access(*, password_method: str | None) -> str:
    """Lines of a pg_hba.conf: everybody who reaches the socket, and, with a method, who knows a password by TCP.

    The socket's directory keeps other accounts away; a TCP port cannot, so it never trusts.
    """
    lines = ["local all all trust", "local replication all trust"]
    if password_method is not None:
        lines.append(f"host all all 127.0.0.1/32 {password_method}")
    return "\n".join(lines) + "\n"
