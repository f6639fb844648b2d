"""A checkup on the terminal: the verdict first, then each cause with what shows it, what it costs and what cures it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.treat import usual_treatment
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Health, Severity
from pgclinic.report.parts.colour import rendered
from pgclinic.report.sections.causes.text import all_explained, numbers
from pgclinic.report.sections.next.checkup import checkup_next
from pgclinic.report.sections.repeat.view import treat_command
from pgclinic.report.sections.snapshot.text import gap_lines
from pgclinic.report.sections.twin.text import twin_line
from pgclinic.report.words.checkup_lines import (
    all_cures_words,
    bar,
    budget_words,
    first_answer,
    first_line,
    one_sentence,
    proof_lines,
    risk_words,
    seen_line,
    short_proof,
    unexplained_lines,
)
from pgclinic.report.words.facts import evidence_words, time_words
from pgclinic.report.words.figures import count
from pgclinic.report.words.findings import (
    HEALTH_WORDS,
    costs,
    explained_words,
    headline,
    pathologies_words,
    proof_words,
    severity_counts,
    short_costs,
    treatment_lines,
    treatment_words,
    unchecked_reasons,
)
from pgclinic.report.words.rewrites import rewrite_words
from pgclinic.report.words.terms import term_words

_STYLES = {
    Health.OK: "bold green",
    Health.WATCH: "bold blue",
    Health.SICK: "bold yellow",
    Health.CRITICAL: "bold red",
}
_SEVERITIES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.NOTICE: "bold blue"}
_LABEL_WIDTH = 12
#: More of them fill a screen that should be read; the report has all.
_EVIDENCE_SHOWN = 4
_ALIKE_SHOWN = 5
_TEXT_SHOWN = 240


@dataclass(frozen=True)
class CheckupPlaces:
    """Where the run and its report are, as the user would type them; None where nothing is kept."""

    folder: str | None = None
    report: str | None = None


def checkup_text(
    checkup: Checkup,
    places: CheckupPlaces = CheckupPlaces(),
    *,
    full: bool = False,
    colour: bool = False,
    width: int = 100,
) -> str:
    """The whole checkup, wrapped to ``width`` columns. Notices take a line each unless ``full``.

    What the first line says to do stands below in full, also where its finding is a notice or explained by another.
    """
    screen = _Screen(width)
    _verdict(screen, checkup, places)
    _cure(screen, checkup)
    answer = first_answer(checkup)
    named = {finding.key for finding, _ in answer.steps} if answer is not None else set()
    groups = [(cause,) for cause in checkup.causes] if full else list(_groups(checkup))
    groups += [(one,) for one in checkup.findings if one.explained_by and one.key in named]
    shown = [group for group in groups if full or group[0].severity is not Severity.NOTICE or group[0].key in named]
    brief = [group for group in groups if group not in shown]
    for group in shown:
        screen.line()
        _finding(screen, checkup, group, full=full)
    if brief:
        screen.line()
        for group in brief:
            _notice(screen, checkup, group)
    screen.line()
    _unexplained(screen, checkup, places)
    _twin(screen, checkup)
    _looked_for(screen, checkup, full=full)
    _places(screen, checkup, places, hidden=bool(brief))
    return rendered(screen.text, colour).rstrip("\n")


class _Screen:
    """Lines with a label in front, wrapped below their own beginning."""

    def __init__(self, width: int) -> None:
        self.text = Text()
        self._width = width

    def line(self, content: str = "", style: str = "") -> None:
        self.text.append(f"{content}\n", style=style)

    def head(self, word: str, style: str, content: str, about: str = "") -> None:
        """A word in colour and what it is about, wrapped below its own beginning; ``about`` follows where it fits."""
        self.text.append(word, style=style)
        indent = " " * (len(word) + 3)
        lines = self._wrapped(content, indent)
        if about and len(indent) + len(lines[-1]) + 3 + len(about) <= self._width:
            lines[-1] += f"   {about}"
        elif about:
            lines += self._wrapped(about, indent)
        self.text.append("   " + f"\n{indent}".join(lines) + "\n")

    def _wrapped(self, content: str, indent: str) -> list[str]:
        space = max(20, self._width - len(indent))
        return textwrap.wrap(content, space, break_long_words=False, break_on_hyphens=False) or [""]

    def wrapped(self, *contents: str) -> None:
        """In one line where they fit, else each in lines of its own."""
        together = " · ".join(contents)
        for content in (together,) if len(together) <= self._width else contents:
            for line in self._wrapped(content, ""):
                self.line(line)

    def row(self, label: str, content: str) -> None:
        """A label and its content, wrapped."""
        self.raw(label, *self._wrapped(content, " " * (2 + _LABEL_WIDTH)))

    def raw(self, label: str, *lines: str) -> None:
        """A label and lines that stay as they are: commands and paths."""
        indent = " " * (2 + _LABEL_WIDTH)
        self.text.append(f"  {label:<{_LABEL_WIDTH}}", style="dim")
        self.text.append(f"\n{indent}".join(lines))
        self.text.append("\n")

    def rows(self, label: str, contents: Sequence[str]) -> None:
        """Several contents under one label."""
        for index, content in enumerate(contents):
            self.row("" if index else label, content)


def _verdict(screen: _Screen, checkup: Checkup, places: CheckupPlaces) -> None:
    about = (
        f"PostgreSQL {checkup.version} · {checkup.database} at {checkup.server} · "
        f"{count(checkup.statements, 'statement')} · {time_words(checkup.took_s)}"
    )
    said, todo = first_line(checkup), checkup_next(checkup)
    screen.head(HEALTH_WORDS[checkup.health], _STYLES[checkup.health], said)
    screen.row("next", todo.words)
    answer = first_answer(checkup)
    if todo.is_sql and answer is not None and places.folder is not None:
        numbered = numbers(checkup)
        screen.raw("", treat_command(places.folder, [numbered[finding.key] for finding, _ in answer.steps]))
    screen.rows("terms", term_words(said))
    if checkup.findings:
        screen.wrapped(severity_counts(checkup), about)
    else:
        screen.wrapped(about)
    explained = explained_words(checkup)
    if explained is not None:
        screen.wrapped(explained)


def _groups(checkup: Checkup) -> Iterator[tuple[Finding, ...]]:
    """Causes in their order; those of one pathology and severity stand together, unless there is more to say of one."""
    makes = {key for finding in checkup.findings for key in finding.explained_by}
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for cause in checkup.causes:
        is_alone = cause.key in makes or bool(cause.proofs)
        group: tuple[str, ...] = (cause.key,) if is_alone else (cause.pathology, cause.severity.value)
        alike.setdefault(group, []).append(cause)
    yield from (tuple(group) for group in alike.values())


def _cure(screen: _Screen, checkup: Checkup) -> None:
    """All cures together, and what the budget did not reach."""
    found = (("all cures", all_cures_words(checkup, numbers(checkup))), ("budget", budget_words(checkup)))
    for label, words in found:
        if words is not None:
            screen.row(label, words)


def _finding(screen: _Screen, checkup: Checkup, group: Sequence[Finding], *, full: bool) -> None:
    one, *alike = group
    numbered = numbers(checkup)
    word = one.severity.value.upper()
    tables = f" ({one.tables[0]})" if one.tables and one.tables[0] not in headline(one) else ""
    screen.head(word, _SEVERITIES[one.severity], f"{numbered[one.key]}  {headline(one)}{tables}")
    if not full:
        _brief(screen, checkup, one, alike)
        return
    screen.row("finding", f"{one.pathology}, {one.confidence.value}")
    _evidence(screen, one, full=full)
    screen.row("why", one.mechanism)
    if costs(one):
        screen.row("costs", "; ".join(costs(one)))
    _symptoms(screen, checkup, one, full=full)
    _alike(screen, alike, checkup, full=full)
    _treatments(screen, one)
    screen.rows("proof", [proof_words(one, proof) for proof in one.proofs])
    if not one.proofs and one.no_proof is not None:
        screen.row("proof", f"none: {one.no_proof}")


def _brief(screen: _Screen, checkup: Checkup, one: Finding, alike: Sequence[Finding]) -> None:
    """A finding on the first screen: cost, one sentence why, the first cure with its SQL, and its proof."""
    cost = short_costs(one)
    if cost:
        screen.row("costs", (f"{bar(one.time_share)}  " if one.time_share else "") + "; ".join(cost))
    seen = seen_line(one)
    if seen is not None:
        screen.row("seen", _shortened(seen))
    screen.row("why", one_sentence(one.mechanism))
    explained = all_explained(checkup, one)
    if explained:
        numbered = numbers(checkup)
        shown = [f"{numbered[symptom.key]} {symptom.pathology}" for symptom in explained[:_ALIKE_SHOWN]]
        more = [f"{len(explained) - _ALIKE_SHOWN} more"] if len(explained) > _ALIKE_SHOWN else []
        screen.row("explains", ", ".join(shown + more))
    _alike(screen, alike, checkup, full=False)
    _first_treatment(screen, one)
    number = usual_treatment(one)
    proofs = [proof for proof in one.proofs if proof.treatment == number]
    screen.rows("proof", [line for proof in proofs for line in proof_lines(one, proof)])
    _other_treatments(screen, one)
    proving = any(other.proofs for other in checkup.findings)
    if not one.proofs and one.no_proof is not None and (proving or not one.treatments):
        screen.row("proof", f"none: {one.no_proof}")


def _first_treatment(screen: _Screen, one: Finding) -> None:
    """The first that cures, as SQL with its lock and its risk."""
    shown = usual_treatment(one)
    if shown is None:
        return
    first = one.treatments[shown]
    lines = [line for text in treatment_lines(first) for line in text.splitlines()]
    screen.row("prevent" if first.prevents else "treat", " ".join(first.title.split()))
    if lines:
        screen.raw("", *lines)
    if risk_words(first):
        screen.row("", risk_words(first))
    written = rewrite_words(first)
    if written is not None:
        screen.row("rewrite", written)


def _other_treatments(screen: _Screen, one: Finding) -> None:
    """Their titles, each with its proof in a line."""
    shown = usual_treatment(one)
    for number, each in enumerate(one.treatments):
        if number != shown:
            proofs = [
                f": {words}" for proof in one.proofs if proof.treatment == number and (words := short_proof(proof))
            ]
            screen.row("prevent" if each.prevents else "or", " ".join(each.title.split()) + "".join(proofs))


def _evidence(screen: _Screen, one: Finding, *, full: bool) -> None:
    shown = one.evidence if full else one.evidence[:_EVIDENCE_SHOWN]
    lines = [evidence_words(evidence) for evidence in shown]
    more = len(one.evidence) - len(shown)
    if more:
        lines.append(f"and {more} more")
    screen.rows("evidence", [line if full else _shortened(line) for line in lines])


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else f"{text[: _TEXT_SHOWN - 3]}..."


def _symptoms(screen: _Screen, checkup: Checkup, one: Finding, *, full: bool) -> None:
    numbered = numbers(checkup)
    found = all_explained(checkup, one)
    shown = found if full else found[:_ALIKE_SHOWN]
    lines = [
        f"{numbered[symptom.key]}  {symptom.pathology} ({symptom.severity.value}): {_shortened(headline(symptom))}"
        + (f"; {'; '.join(costs(symptom))}" if costs(symptom) else "")
        for symptom in shown
    ]
    if len(found) > len(shown):
        lines.append(f"and {len(found) - len(shown)} more")
    screen.rows("explains", lines)


def _alike(screen: _Screen, alike: Sequence[Finding], checkup: Checkup, *, full: bool) -> None:
    """Further findings of the same pathology: their subjects and costs."""
    numbered = numbers(checkup)
    shown = alike if full else alike[:_ALIKE_SHOWN]
    lines = [
        f"{numbered[finding.key]}  {_shortened(' '.join(finding.subject.split()))}"
        + (f": {'; '.join(costs(finding))}" if costs(finding) else "")
        for finding in shown
    ]
    if len(alike) > len(shown):
        lines.append(f"and {len(alike) - len(shown)} more")
    screen.rows("also", lines)


def _treatments(screen: _Screen, one: Finding) -> None:
    for label, prevents in (("treat", False), ("prevent", True)):
        chosen = [treatment for treatment in one.treatments if treatment.prevents is prevents]
        for index, treatment in enumerate(chosen):
            screen.row(label if not index else "or" if not prevents else "", treatment_words(treatment))
            lines = treatment_lines(treatment)
            if lines:
                screen.raw("", *(line for text in lines for line in text.splitlines()))


def _notice(screen: _Screen, checkup: Checkup, group: Sequence[Finding]) -> None:
    one, *alike = group
    words = headline(one)
    if costs(one):
        words += f"; {'; '.join(costs(one))}"
    number = numbers(checkup)[one.key]
    more = f"; and {len(alike)} more of this kind" if alike else ""
    symptoms = all_explained(checkup, one)
    if symptoms:
        more += f"; explains {', '.join(dict.fromkeys(symptom.pathology for symptom in symptoms))}"
    screen.head("NOTICE", _SEVERITIES[one.severity], f"{number}  {one.pathology}: {_shortened(words)}{more}")


def _looked_for(screen: _Screen, checkup: Checkup, *, full: bool) -> None:
    unchecked = {one.pathology for one in checkup.unchecked}
    areas = dict.fromkeys(pathology.area.value for pathology in catalog().values() if pathology.name not in unchecked)
    screen.row("looked for", pathologies_words(checkup.pathologies))
    if full or checkup.health is Health.OK:
        screen.row("", f"in {', '.join(areas)}")
    reasons = unchecked_reasons(checkup)
    screen.rows("skipped", [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()])
    gaps = [gap for gap in checkup.gaps if gap.since is None]
    if gaps:
        screen.raw("not read", *gap_lines(gaps))


def _unexplained(screen: _Screen, checkup: Checkup, places: CheckupPlaces) -> None:
    """What is left, and the commands that go on from there."""
    if checkup.unexplained is None:
        return
    for label, line in unexplained_lines(checkup.unexplained):
        screen.row(label, _shortened(line))
    screen.raw("go on", "pgclinic assay DSN", "pgclinic bench --observe DSN")


def _twin(screen: _Screen, checkup: Checkup) -> None:
    if checkup.fidelity is not None:
        screen.row("twin", twin_line(checkup.fidelity))


def _places(screen: _Screen, checkup: Checkup, places: CheckupPlaces, *, hidden: bool) -> None:
    if places.report is not None:
        screen.raw("report", places.report)
    if places.folder is None:
        return
    treatable = next((finding for finding in checkup.findings if finding.treatments), None)
    if treatable is not None:
        screen.raw("treat", f"pgclinic treat {places.folder} {numbers(checkup)[treatable.key]} -o FILE")
    if hidden:
        screen.raw("all", f"pgclinic checkup --from {places.folder} --full")
