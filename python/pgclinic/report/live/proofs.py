"""The findings of a checkup while their treatments are proven: a line for each, with how far its proof is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Severity
from pgclinic.model.progress import Progress
from pgclinic.report.live.progress import place_words
from pgclinic.report.words.checkup_lines import short_proof
from pgclinic.report.words.figures import count
from pgclinic.report.words.findings import headline

_SHOWN = 4
_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "dim"}
#: What of a line the headline may take.
_HEADLINE_SHARE = 0.5
ALL_CURES = "all cures together"


def proof_state_lines(checkup: Checkup, in_blocks: str | None, progress: Progress | None, columns: int) -> list[Text]:
    """The causes with their states, at most four; ``in_blocks`` is the key of the one whose blocks run."""
    shown = _shown(checkup.causes, in_blocks)
    lines = [_line(finding, _state(finding, in_blocks, progress), columns) for finding in shown]
    if in_blocks == ALL_CURES:
        lines.append(Text(f"  {ALL_CURES}: {_in_blocks(progress)}"))
    others = len(checkup.causes) - len(shown)
    return [*lines, Text(f"  and {count(others, 'other finding')}", style="dim")] if others else lines


def _shown(findings: Sequence[Finding], in_blocks: str | None) -> list[Finding]:
    """The first ones in their order, and always the one whose blocks run."""
    ranked = sorted(findings, key=lambda one: (one.key != in_blocks, one.severity is Severity.NOTICE))
    kept = {finding.key for finding in ranked[:_SHOWN]}
    return [finding for finding in findings if finding.key in kept]


def _line(finding: Finding, state: str, columns: int) -> Text:
    words, room = " ".join(headline(finding).split()), max(10, int(columns * _HEADLINE_SHARE) - 12)
    cut = words if len(words) <= room else f"{words[: room - 1]}…"
    line = Text("  ")
    line.append(f"{finding.severity.value.upper():<8}", style=_STYLES[finding.severity])
    return line.append(f"  {cut:<{room}}  {state}")


def _state(finding: Finding, in_blocks: str | None, progress: Progress | None) -> str:
    """in blocks: 3 of at most 8; cured by plans; waiting; cannot be proven in the lab."""
    if finding.key == in_blocks:
        return _in_blocks(progress)
    if finding.proofs:
        return " ".join(short_proof(finding.proofs[0]).split())
    return "waiting" if finding.treatments and finding.no_proof is None else "cannot be proven in the lab"


def _in_blocks(progress: Progress | None) -> str:
    return f"in blocks: {place_words(progress).removeprefix('block ')}" if progress is not None else "in blocks"
