"""The three scripts that pgbench brings along. Their texts are published in its manual."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.errors import UsageError

_VARIABLES = """\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
_HISTORY = """\
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""
_BRANCH = """\
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
"""


@dataclass(frozen=True)
class Builtin:
    """``description`` is what stands for the script in reports."""

    name: str
    description: str
    text: str


BUILTINS = (
    Builtin("tpcb-like", "<builtin: TPC-B (sort of)>", _VARIABLES + _BRANCH + _HISTORY),
    Builtin("simple-update", "<builtin: simple update>", _VARIABLES + _HISTORY),
    Builtin(
        "select-only",
        "<builtin: select only>",
        "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    ),
)


def find_builtin(prefix: str) -> Builtin:
    """The only builtin whose name begins so. Raises UsageError."""
    matches = [builtin for builtin in BUILTINS if builtin.name.startswith(prefix)]
    if not matches:
        names = ", ".join(builtin.name for builtin in BUILTINS)
        raise UsageError(f'no builtin script found for name "{prefix}"', hint=f"known: {names}")
    if len(matches) > 1:
        raise UsageError(f'ambiguous builtin name: {len(matches)} builtin scripts found for prefix "{prefix}"')
    return matches[0]


def list_text() -> str:
    """What ``-b list`` prints."""
    lines = [f"{builtin.name:>15}: {builtin.description}" for builtin in BUILTINS]
    return "\n".join(["Available builtin scripts:", *lines, ""])


def script_text(builtin: Builtin) -> str:
    """What ``--show-script`` prints."""
    return f"-- {builtin.name}: {builtin.description}\n{builtin.text}"
