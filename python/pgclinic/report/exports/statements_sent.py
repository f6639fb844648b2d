"""The statements of a checkup as a script: each under a comment that says what it is for."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.checkup.sent_statements import SentStatement


def statements_text(sent: Sequence[SentStatement], major: int) -> str:
    """All of them, in the order in which they are sent."""
    lines = [f"-- What a checkup sends to PostgreSQL {major}, in a session that is read-only."]
    for number, one in enumerate(sent, start=1):
        lines += ["", f"-- {number} of {len(sent)}: {one.part}"]
        lines += [f"-- ${place} is {value}" for place, value in enumerate(one.values, start=1)]
        lines.append(f"{one.sql.strip()};")
    return "\n".join(lines) + "\n"
