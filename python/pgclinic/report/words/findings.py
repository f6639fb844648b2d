"""A finding in words: its headline, what it costs, what to do, and what an experiment on that gave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pgclinic.checkup.treat import statements_of
from pgclinic.model.checkup import Checkup, Unchecked
from pgclinic.model.finding import (
    Applies,
    Cost,
    CostKind,
    Fact,
    Finding,
    Health,
    Proof,
    Role,
    Severity,
    ShareBasis,
    Treatment,
    Unit,
)
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.sections.snapshot.text import part_words, problem_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.facts import cost_words, fact_words, plain
from pgclinic.report.words.figures import count, percent, span, times
from pgclinic.report.words.no_answer import proof_reason
from pgclinic.report.words.plan_proof import plan_proof_words
from pgclinic.report.words.quantities import range_words, ratio_words
from pgclinic.report.words.rewrites import rewrite_words, rewritten_lines

HEALTH_WORDS = {Health.OK: "OK", Health.WATCH: "WATCH", Health.SICK: "SICK", Health.CRITICAL: "CRITICAL"}
_STATEMENT_NUMBER = re.compile(r"statement -?\d+")
#: Of a statement's text, where it stands for the statement.
_STATEMENT_SHOWN = 72


def severity_counts(checkup: Checkup) -> str:
    """1 critical, 2 warnings, 3 notices; 2 more are explained by them."""
    nouns = {Severity.CRITICAL: "critical", Severity.WARNING: "warning", Severity.NOTICE: "notice"}
    found = {one: sum(finding.severity is one for finding in checkup.causes) for one in nouns}
    parts = [
        f"{amount} {noun}" if severity is Severity.CRITICAL else count(amount, noun)
        for severity, noun in nouns.items()
        if (amount := found[severity])
    ]
    explained = len(checkup.findings) - len(checkup.causes)
    more = f"; {explained} more {'is' if explained == 1 else 'are'} explained by them" if explained else ""
    return (", ".join(parts) or "nothing found") + more


def headline(finding: Finding) -> str:
    """an idle transaction holds the xmin horizon: session 4711 (report)"""
    subject = subject_words(finding)
    said = finding.title.split()
    return finding.title if all(word in said for word in subject.split()) else f"{finding.title}: {subject}"


def subject_words(finding: Finding) -> str:
    """The subject; a statement by the beginning of its text, as nobody knows it by its number."""
    subject = " ".join(finding.subject.split())
    text = " ".join(finding.evidence[0].name.split()) if finding.evidence else ""
    if not _STATEMENT_NUMBER.fullmatch(subject) or not text or text == subject:
        return subject
    return text if len(text) <= _STATEMENT_SHOWN else f"{text[: _STATEMENT_SHOWN - 3]}..."


def costs(finding: Finding) -> tuple[str, ...]:
    """What a finding costs now, in each unit that is known, with the figures behind it."""
    cost, share = finding.cost, share_words(finding)
    if cost is not None and cost.kind is CostKind.TIME_SHARE and share is not None:
        estimated = finding.estimated_share
        before = [f"estimated before: {percent(estimated)}"] if estimated is not None else []
        said = "; ".join((*before, *([_basis_words(cost)] if cost.basis else [])))
        return (f"{share} ({said})" if said else share,)
    found = (_with_basis(cost),) if cost is not None else ()
    return (*found, share) if share is not None and finding.time_share else found


def short_costs(finding: Finding) -> tuple[str, ...]:
    """The same, each in one figure."""
    cost, share = finding.cost, share_words(finding)
    if cost is not None and cost.kind is CostKind.TIME_SHARE and share is not None:
        return (share,)
    first = (cost_words(cost),) if cost is not None else ()
    return (*first, share) if share is not None and finding.time_share else first


def share_words(finding: Finding) -> str | None:
    """at most 18 % of the time of all statements; None for a finding that has no time."""
    if finding.time_share is None:
        return None
    whole = "all statements" if _is_of_statements(finding) else "active sessions"
    at_most = "at most " if finding.claim is not None and finding.claim.at_most else ""
    by_plans = ", by plans on the twin" if finding.time_share_by is ShareBasis.PLANS else ""
    return f"{at_most}{percent(finding.time_share)} of the time of {whole}{by_plans}"


def _is_of_statements(finding: Finding) -> bool:
    """Checkups of earlier versions have it by the kind of their cost."""
    if finding.time_share_by is not None:
        return finding.time_share_by is not ShareBasis.SAMPLES
    return finding.cost is not None and finding.cost.kind is CostKind.TIME_SHARE


def _with_basis(cost: Cost) -> str:
    return f"{cost_words(cost)} ({_basis_words(cost)})" if cost.basis else cost_words(cost)


def _basis_words(cost: Cost) -> str:
    return ", ".join(fact_words(fact) for fact in cost.basis)


def explained_words(checkup: Checkup) -> str | None:
    """How much of the time the findings account for; None where nobody was seen working."""
    if not checkup.active_sessions or checkup.explained_share is None:
        return None
    whole = f"the time of {_sessions(checkup.active_sessions)}"
    if checkup.explained_share_by is ShareBasis.COUNTERS:
        whole = "the time of all statements"
    claiming = sum(
        finding.role is Role.CAUSE and finding.claim is not None and bool(finding.time_share)
        for finding in checkup.findings
    )
    if not claiming:
        return f"no finding accounts for {whole}"
    verb = "is explained by"
    return f"{percent(checkup.explained_share)} of {whole} {verb} {count(claiming, 'finding')}"


def _sessions(active: float) -> str:
    return f"{plain(round(active, 1))} active {'session' if active == 1 else 'sessions'} on average"


def treatment_words(treatment: Treatment) -> str:
    """end the session; lock: none; risk: its transaction is rolled back"""
    parts = [treatment.title]
    if treatment.lock:
        parts.append(f"lock: {treatment.lock}")
    if treatment.risk:
        parts.append(f"risk: {treatment.risk}")
    written = rewrite_words(treatment)
    if written is not None:
        parts.append(written)
    return "; ".join(" ".join(part.split()) for part in parts)


def treatment_lines(treatment: Treatment) -> tuple[str, ...]:
    """What to type, as SQL that can be pasted as it stands; a restart is a comment."""
    rewritten = [statement.rstrip().rstrip(";") for statement in rewritten_lines(treatment)]
    lines = [f"{statement};" for statement in (*statements_of(treatment), *rewritten)]
    return (*lines, *(["-- then restart the server"] if treatment.applies is Applies.RESTART else []))


def proof_words(finding: Finding, proof: Proof) -> str:
    """create an index: cured by plans: 2 statements with 95 % of the time read 14 and 79 buffers per call ..."""
    about = finding.treatments[proof.treatment].title if proof.treatment < len(finding.treatments) else "treatment"
    return f"{about}: {proof_answer(proof)}"


def proof_answer(proof: Proof) -> str:
    """The same without what was treated."""
    place = f" on {proof.on}" if proof.on else ""
    doubts = [f"doubt: {doubt}" for doubt in doubts_of(proof)]
    if proof.word is None:
        no_verdict = f"no verdict{place}" + (f": {proof_reason(proof.reason)}" if proof.reason else "")
        return "; ".join((no_verdict, *doubts))
    parts = []
    if proof.plans is not None:
        parts.append(f"{proof.plans.word.value}: {plan_proof_words(proof.plans)}")
    if proof.ratio is not None:
        parts.append(_blocks_words(proof))
    words = f"{'; '.join(parts) if parts else proof.word}{place}"
    if proof.reason:
        words += f"; {proof_reason(proof.reason)}"
    return "; ".join((words, *changed_words(proof), *doubts))


def changed_words(proof: Proof) -> Iterator[str]:
    """What the treatment made less, and what else it changed."""
    for label, facts in (("less", proof.mechanism), ("side effects", proof.elsewhere)):
        if facts:
            yield f"{label}: {', '.join(_compared(fact) for fact in facts)}"


def doubts_of(proof: Proof) -> Iterator[str]:
    """Each doubt with its name, that about several proofs first."""
    together = together_words(proof)
    if together is not None:
        yield together
    for doubt in proof.doubts:
        words = doubt_words(doubt)
        yield f"{words.label}: {words.text}"


def together_words(proof: Proof) -> str | None:
    """Words for a proof by blocks that the others of its checkup do not uphold; None if they do, or it says nothing."""
    said = proof.blocks if proof.plans is not None else proof.word
    if proof.upheld_together is not False or said in (None, CompareWord.INCONCLUSIVE.value):
        return None
    return f"Several proofs: not upheld among the {proof.together} by blocks at a false discovery rate of 5 %"


def _blocks_words(proof: Proof) -> str:
    """faster by blocks: 0.042x the server time of the original's workload, 95 % CI 0.038 to 0.047"""
    assert proof.ratio is not None
    of = f" in {proof.measure}" if proof.measure else ""
    if proof.measure == "server_time":
        of = " the server time of the original's workload"
    is_time = proof.measure == "server_time"
    words = f"{proof.blocks or proof.word} by blocks: {times(proof.ratio) if is_time else ratio_words(proof.ratio)}{of}"
    if proof.low is not None and proof.high is not None:
        bounds = (proof.low, proof.high)
        words += f", 95 % CI {span(bounds) if is_time else range_words(bounds, proof.ratio)}"
    if proof.tps_ratio is not None and proof.sessions:
        loop = f"closed loop, {count(proof.sessions, 'session')}"
        words += f" ({loop}: {times(proof.tps_ratio)} the transactions/s)"
    return words


def pathologies_words(amount: int) -> str:
    """1 pathology, 118 pathologies."""
    return f"{amount:,} {'pathology' if amount == 1 else 'pathologies'}"


def _compared(fact: Fact) -> str:
    """A ratio of a proof is one of the treated to what is."""
    is_ratio = fact.unit is Unit.RATIO and not isinstance(fact.value, str)
    return f"{fact.name} {times(float(fact.value))}" if is_ratio else fact_words(fact)


def unchecked_reasons(checkup: Checkup) -> Mapping[str, tuple[str, ...]]:
    """Pathologies that could not be looked for, by the reason in words."""
    problems = {f"{gap.what}: {gap.problem}": f"{part_words(gap)}: {problem_words(gap)}" for gap in checkup.gaps}
    found: dict[str, list[str]] = {}
    for unchecked in checkup.unchecked:
        found.setdefault(_reason(unchecked, problems), []).append(unchecked.pathology)
    return {reason: tuple(names) for reason, names in found.items()}


def _reason(one: Unchecked, problems: Mapping[str, str]) -> str:
    if one.since is not None:
        return f"exists on PostgreSQL {one.since} and later only"
    if one.until is not None:
        return f"exists on PostgreSQL {one.until} and earlier only"
    return problems.get(one.reason, one.reason)
