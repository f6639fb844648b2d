"""The checks of a machine on the terminal: the answer, what stands in the way, what would help, what is fine."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text

from pgclinic.model.doctor import CheckState, VerdictCost
from pgclinic.model.output import DoctorCheck, DoctorOutput
from pgclinic.report.parts.colour import rendered
from pgclinic.report.words.doctor import COST_LEGEND, COST_WORDS

_TITLES = {
    CheckState.BLOCKS: ("STANDS IN THE WAY", "bold red"),
    CheckState.HELPS: ("WOULD HELP", "bold yellow"),
    CheckState.FINE: ("FINE", "bold green"),
}
_LABEL_WIDTH = 16


def doctor_text(output: DoctorOutput, *, colour: bool = False, width: int = 100) -> str:
    """All of it, wrapped to ``width`` columns; what each change costs the verdict now stands behind its name."""
    text = Text()
    for line in textwrap.wrap(output.answer, width):
        text.append(f"{line}\n", style="bold")
    for state, (title, style) in _TITLES.items():
        checks = [check for check in output.checks if check.state is state]
        if checks:
            text.append(f"\n{title}\n", style=style)
            for check in checks:
                _add(text, check, width)
    _legend(text, [check.cost for check in output.checks if check.cost is not None], width)
    return rendered(text, colour).rstrip("\n")


def _add(text: Text, check: DoctorCheck, width: int) -> None:
    indent = " " * (2 + _LABEL_WIDTH)
    cost = f"[{COST_WORDS[check.cost]}] " if check.cost is not None else ""
    lines = textwrap.wrap(cost + check.found, width - len(indent), break_long_words=False, break_on_hyphens=False)
    text.append(f"  {check.name.value:<{_LABEL_WIDTH}}")
    text.append(f"\n{indent}".join(lines) + "\n")
    if check.command is not None:
        # Commands stay in one piece, so that they can be copied.
        text.append(f"{indent}{check.command}\n", style="cyan")


def _legend(text: Text, costs: Sequence[VerdictCost], width: int) -> None:
    named = [f"{COST_WORDS[cost]}: {COST_LEGEND[cost]}" for cost in VerdictCost if cost in costs]
    if named:
        text.append("\n")
        for line in textwrap.wrap("; ".join(named), width):
            text.append(f"{line}\n", style="dim")
