"""The first screen of a checkup: what to do and what it gives, a finding in few lines, and what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.checkup import Checkup, Unexplained
from pgclinic.model.finding import Finding, Proof, Severity, Treatment
from pgclinic.report.quantities import range_words, ratio_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.facts import cost_words, fact_words
from pgclinic.report.words.figures import count, percent, span
from pgclinic.report.words.findings import costs, headline, shown_cost, together_words
from pgclinic.report.words.plan_proof import plan_proof_words

BAR_WIDTH = 20
#: A line with more figures is no longer read.
FACTS_SHOWN = 3
_PAIRS_SHOWN = 2
#: How facts of a proof name the two sides of one figure: by their beginning or by their end.
_BEFORE_AFTER = (("blocks a call, as it is: ", "blocks a call, treated: "), (", sick", ", cured"))
#: Words of verdicts that say that a treatment helps.
_HELPS = frozenset({"faster", "cured by plans"})
_SERVER_TIME = "server_time"
#: A ratio below this is said to be this.
_LEAST = 1e-4


def first_line(checkup: Checkup) -> str:
    """What to do first and what that gives; without a proof what it costs not to do it."""
    whole = _all_cures(checkup)
    if whole is not None:
        return whole
    proven = best_proof(checkup)
    if proven is not None:
        finding, proof = proven
        return f"{_action(finding, _treatment(finding, proof.treatment))}: {_gain(proof)} (proven on {proof.on})"
    first = next(iter(checkup.causes), None)
    if first is None:
        return "nothing found"
    if first.severity is Severity.NOTICE:
        return f"nothing to do at once; {count(len(checkup.causes), 'notice')}"
    treatment = _treatment(first, None)
    cost = short_costs(first)
    words = _action(first, treatment) if treatment is not None else f"Look at {headline(first)}"
    return f"{words}: {cost[0] if cost else headline(first)} (not proven yet)"


def best_proof(checkup: Checkup) -> tuple[Finding, Proof] | None:
    """The proof of the largest gain; of one whose interval says that there is a gain."""
    proven = [
        (speed_up, finding, proof)
        for finding in checkup.causes
        for proof in finding.proofs
        if (speed_up := _speed_up(proof)) is not None
    ]
    best = max(proven, key=lambda found: found[0], default=None)
    return None if best is None else (best[1], best[2])


def _speed_up(proof: Proof) -> float | None:
    """How many times as fast the treatment makes the server, or the workload by its buffers; None where it does not."""
    if proof.word not in _HELPS:
        return None
    if proof.ratio is None:
        return 1.0 / max(proof.plans.ratio, _LEAST) if proof.plans is not None else None
    if proof.measure == _SERVER_TIME:
        return 1.0 / max(proof.ratio, _LEAST) if proof.high is None or proof.high < 1.0 else None
    return proof.ratio if proof.low is None or proof.low > 1.0 else None


def _all_cures(checkup: Checkup) -> str | None:
    """What to do where several treatments together were shown to cure."""
    cure = checkup.cure
    if cure is None or len(cure.steps) < 2 or _speed_up(cure.proof) is None:
        return None
    by_key = {finding.key: finding for finding in checkup.findings}
    actions = [
        _action(by_key[step.finding], _treatment(by_key[step.finding], step.treatment))
        for step in cure.steps
        if step.finding in by_key
    ]
    return f"{'; '.join(actions)}: {_gain(cure.proof)} (proven on {cure.proof.on})"


def short_costs(finding: Finding) -> tuple[str, ...]:
    """What it costs, each in one figure."""
    cost = shown_cost(finding)
    first = (cost_words(cost),) if cost is not None else ()
    return (*first, *costs(finding)[len(first) :])


def bar(share: float) -> str:
    """A share as a bar: ██████░░░░."""
    filled = min(BAR_WIDTH, max(1, round(share * BAR_WIDTH)))
    return "█" * filled + "░" * (BAR_WIDTH - filled)


def one_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def risk_words(treatment: Treatment) -> str:
    """Lock and risk in one line."""
    parts = [("lock", treatment.lock), ("risk", treatment.risk)]
    return "; ".join(f"{label}: {' '.join(text.split())}" for label, text in parts if text)


def proof_lines(finding: Finding, proof: Proof) -> Iterator[str]:
    """The verdict, then figures before and after, then what makes it doubtful."""
    if proof.plans is not None:
        yield f"{proof.plans.word.value}: {plan_proof_words(proof.plans)}"
    if proof.ratio is None and proof.plans is not None:
        if proof.reason:
            yield f"no blocks of trials: {proof.reason}"
    elif proof.word is None or proof.ratio is None:
        yield f"no verdict{f' on {proof.on}' if proof.on else ''}{f': {proof.reason}' if proof.reason else ''}"
    else:
        interval = ""
        if proof.low is not None and proof.high is not None:
            bounds = (proof.low, proof.high)
            is_time = proof.measure == _SERVER_TIME
            interval = f", 95 % CI {span(bounds) if is_time else range_words(bounds, proof.ratio)}"
        word = f"{proof.blocks} by blocks" if proof.blocks is not None else proof.word
        yield f"{word}: {_gain(proof)}{interval} ({_about(finding, proof)}{proof.on})"
    yield from _before_after(proof)
    yield from doubt_lines(proof)


def doubt_lines(proof: Proof) -> Iterator[str]:
    together = together_words(proof)
    if together is not None:
        yield f"doubt: {together}"
    for one in proof.doubts:
        words = doubt_words(one)
        yield f"doubt: {words.label}: {words.text}"


def unexplained_lines(left: Unexplained) -> Iterator[tuple[str, str]]:
    """Labels and lines: how much no finding accounts for, and where that time goes."""
    yield "unexplained", f"no finding accounts for {percent(left.share)} of the time of active sessions"
    if left.waits:
        yield "waits", ", ".join(f"{one.name} {percent(one.share)}" for one in left.waits)
    for one in left.statements:
        yield "statement", f"{percent(one.share)}  {' '.join(one.name.split())}"
    if left.settings:
        yield "settings", ", ".join(f"{one.name} = {one.value} (default {one.default})" for one in left.settings[:3])
        if len(left.settings) > 3:
            yield "", f"and {len(left.settings) - 3} more that differ from their defaults"


def _before_after(proof: Proof) -> Iterator[str]:
    values = {one.name: one for one in (*proof.mechanism, *proof.elsewhere)}
    found = 0
    for before, after in _BEFORE_AFTER:
        for name, fact in values.items():
            other = values.get(name.replace(before, after)) if before in name else None
            if other is not None and found < _PAIRS_SHOWN:
                found += 1
                about = name.replace(before, "")
                unit = "buffers per call: " if before.startswith("blocks") else ""
                yield f"{unit}{_value(fact.value)} → {_value(other.value)} ({about})"


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _gain(proof: Proof) -> str:
    if proof.ratio is None and proof.plans is not None:
        return f"the workload visits {percent(max(proof.plans.ratio, _LEAST))} of its buffers"
    if proof.measure == _SERVER_TIME and proof.ratio is not None:
        return f"server time {_changes_to(proof.ratio)}"
    measure = "throughput" if proof.measure.lower() in ("tps", "") else proof.measure
    return f"{ratio_words(proof.ratio or 1.0)} {measure}"


def _changes_to(ratio: float) -> str:
    """falls to 4 %; rises to 130 %."""
    return f"{'falls' if ratio < 1.0 else 'rises'} to {percent(max(ratio, _LEAST))}"


def _about(finding: Finding, proof: Proof) -> str:
    """Which treatment was tried, where it is not the one that stands above."""
    tried, shown = _treatment(finding, proof.treatment), _treatment(finding, None)
    return f"{tried.title}, on " if tried is not None and tried is not shown else "on "


def _treatment(finding: Finding, number: int | None) -> Treatment | None:
    if number is not None and number < len(finding.treatments):
        return finding.treatments[number]
    return next((one for one in finding.treatments if not one.prevents), next(iter(finding.treatments), None))


def _action(finding: Finding, treatment: Treatment | None) -> str:
    """Raise work_mem to 8MB; Vacuum the table (public.orders)."""
    if treatment is None:
        return headline(finding)
    title = " ".join(treatment.title.split())
    subject = " ".join(finding.subject.split())
    about = finding.tables[0] if finding.tables and subject.startswith("statement ") else subject
    named = any(
        word and word in title
        for word in (subject, *finding.tables, *(one.rpartition(".")[2] for one in finding.tables))
    )
    return f"{title[:1].upper()}{title[1:]}" + ("" if named else f" ({about})")


def seen_line(finding: Finding) -> str | None:
    """The first evidence in one line with few figures; for a statement its text alone."""
    first = next(iter(finding.evidence), None)
    if first is None:
        return None
    name = " ".join(first.name.split())
    facts = ", ".join(fact_words(one) for one in first.facts[:FACTS_SHOWN])
    return f"{name}: {facts}" if facts else name
