"""What a reader does next: one step, as every kind of run gives it, and its rows for the terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.checkup.treat import statements_of
from pgclinic.model.finding import Applies, Treatment
from pgclinic.report.parts.rows import row_lines

TWIN_FILE = "my.twin"


@dataclass(frozen=True)
class NextStep:
    """``words`` are a sentence without its first capital and its end, ``commands`` the lines to type, empty where there
    are none; ``is_sql`` says that they are for psql and not for a shell."""

    words: str
    commands: tuple[str, ...] = ()
    is_sql: bool = False

    @property
    def text(self) -> str:
        """The commands as they are copied."""
        return "\n".join(self.commands)


def next_rows(step: NextStep, note: str | None = None) -> Iterator[tuple[str, str]]:
    """Labels and contents for the terminal; those without a label are commands, and stay in one line.

    ``note`` is what must be added to a command that resumes a run, such as a password.
    """
    yield "next", step.words
    for line in step.commands:
        yield "", line
    if note is not None and any("--resume" in line for line in step.commands):
        yield "", note


def next_lines(step: NextStep | None, label_width: int, wrapped_to: int) -> list[str]:
    """The same as whole lines, with labels of ``label_width`` columns behind two spaces; none without a step."""
    rows = next_rows(step) if step is not None else ()
    return [
        line
        for label, content in rows
        for line in row_lines(label, content, wrapped_to, label_width, is_whole=not label)
    ]


def more_command(verb: str, folder: str, blocks: int) -> str:
    """The command that continues a run to this total number of blocks."""
    return shlex.join(["pgclinic", *verb.split(), "--resume", folder, "--blocks", str(blocks)])


def setting_statements(settings: Mapping[str, str | None]) -> tuple[str, ...]:
    """Lines of SQL that set each to its value, or back to the default where that is None, for the next start."""
    changed = {name: value for name, value in settings.items() if value is not None}
    reset = tuple(f"alter system reset {name};" for name, value in settings.items() if value is None)
    statements = statements_of(Treatment(title="", applies=Applies.RESTART, settings=changed))
    lines = tuple(f"{one};" for one in statements if one.startswith("alter system"))
    return (*lines, *reset, "-- then restart the server")


def with_budget(command: Sequence[str], budget_s: float) -> str:
    """The command with ``budget_s`` in place of its own --budget."""
    words: list[str] = []
    skipped = False
    for word in command:
        if skipped:
            skipped = False
        elif word == "--budget":
            skipped = True
        elif not word.startswith("--budget="):
            words.append(word)
    return shlex.join([*words, "--budget", budget_words(budget_s)])


def budget_words(budget_s: float) -> str:
    """As --budget takes it, in whole minutes from two on: 90s, 5m."""
    return f"{math.ceil(budget_s / 60)}m" if budget_s >= 120 else f"{max(1, round(budget_s))}s"


def resumed(verb: str, folder: str, budget_s: float) -> str:
    """The command that resumes a run for a longer time."""
    return shlex.join(["pgclinic", verb, "--resume", folder, "--budget", budget_words(budget_s)])
