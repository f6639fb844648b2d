"""The first screen of a checkup: what to do and what it gives, a finding in few lines, and what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pgclinic.checkup.treat import HELPS, usual_treatment
from pgclinic.model.checkup import Checkup, Unexplained
from pgclinic.model.finding import Finding, Proof, Severity, ShareBasis, Treatment
from pgclinic.report.words.facts import fact_words
from pgclinic.report.words.figures import count, percent
from pgclinic.report.words.findings import changed_words, doubts_of, headline, short_costs
from pgclinic.report.words.no_answer import proof_reason
from pgclinic.report.words.plan_proof import StatementChange, plan_proof_words, statement_changes, tried_words
from pgclinic.report.words.quantities import range_words, ratio_words
from pgclinic.report.words.rewrites import is_checked

BAR_WIDTH = 20
#: A line with more figures is no longer read.
FACTS_SHOWN = 3
_PAIRS_SHOWN = 2
#: Statements that a treatment changes, and the beginning of each line about one; the page has all.
_CHANGES_SHOWN, _LINE_SHOWN = 3, 84
#: How facts of a proof name the two sides of one figure: by their beginning or by their end.
_BEFORE_AFTER = (("blocks a call, as it is: ", "blocks a call, treated: "), (", sick", ", cured"))
#: Words of verdicts that say that a treatment makes it worse.
_HARMS = frozenset({"slower", "worse by plans"})
_SERVER_TIME = "server_time"
#: A ratio below this is said to be this.
_LEAST = 1e-4
#: Below this part a whole per cent is too coarse for the ends of an interval.
_SMALL = 0.1


@dataclass(frozen=True)
class FirstAnswer:
    """What a checkup says to do first, a finding and its treatment for each step, and the proof that it helps."""

    steps: tuple[tuple[Finding, Treatment | None], ...]
    proof: Proof | None


def first_answer(checkup: Checkup) -> FirstAnswer | None:
    """All cures where they were shown to help together, else the best proven treatment, else that of the first cause;
    None where nothing has to be done at once."""
    cure = checkup.cure
    if cure is not None and len(cure.steps) > 1 and _speed_up(cure.proof) is not None:
        by_key = {finding.key: finding for finding in checkup.findings}
        treated = [(by_key[step.finding], step.treatment) for step in cure.steps]
        return FirstAnswer(tuple((finding, _treatment(finding, number)) for finding, number in treated), cure.proof)
    proven = best_proof(checkup)
    if proven is not None:
        finding, proof = proven
        return FirstAnswer(((finding, _treatment(finding, proof.treatment)),), proof)
    first = next(iter(checkup.causes), None)
    if first is None or first.severity is Severity.NOTICE:
        return None
    return FirstAnswer(((first, _treatment(first, None)),), None)


def first_line(checkup: Checkup) -> str:
    """What is wrong, what to do first and what that gives; without a proof what it costs not to do it."""
    answer = first_answer(checkup)
    if answer is None:
        return f"nothing to do at once; {count(len(checkup.causes), 'notice')}" if checkup.causes else "nothing found"
    finding, treatment = answer.steps[0]
    more = f", and {count(len(answer.steps) - 1, 'other finding')}" if len(answer.steps) > 1 else ""
    found = f"{headline(finding)}{more}"
    cost = next(iter(short_costs(finding)), None)
    if treatment is None:
        return f"{found}: {cost}" if cost is not None else found
    first, *others = (_action(finding, treatment) for finding, treatment in answer.steps)
    actions = "; ".join((first, *(f"{each[:1].lower()}{each[1:]}" for each in others)))
    if answer.proof is not None:
        return f"{found}. {actions}: {gain_words(answer.proof)}{_interval(answer.proof)} (proven on {answer.proof.on})"
    proven = "same rows on the twin" if is_checked(treatment) else "not proven yet"
    return f"{found}{f': {cost}' if cost is not None else ''}. {actions} ({proven})"


def part_left(proof: Proof) -> float | None:
    """What of the server time, or by plans alone of the buffers, is left with the treatment; None without either."""
    if proof.ratio is None and proof.plans is not None:
        return proof.plans.ratio
    return proof.ratio if proof.measure == _SERVER_TIME else None


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


def is_gain(proof: Proof) -> bool:
    """Whether the proof says that the treatment helps, with its whole interval where there is one."""
    return _speed_up(proof) is not None


def is_harm(proof: Proof) -> bool:
    """Whether the proof says that the treatment makes it worse."""
    return proof.word in _HARMS


def side_figures(proof: Proof) -> Iterator[str]:
    """What else the treatment changed, and what a load on the twin gives."""
    yield from changed_words(proof)
    if proof.tps_ratio is not None and proof.sessions:
        yield f"{ratio_words(proof.tps_ratio)} throughput in a closed loop of {count(proof.sessions, 'session')}"


def _speed_up(proof: Proof) -> float | None:
    """How many times as fast the treatment makes the server, or the workload by its buffers; None where it does not."""
    if proof.word not in HELPS:
        return None
    if proof.ratio is None:
        return 1.0 / max(proof.plans.ratio, _LEAST) if proof.plans is not None else None
    if proof.measure == _SERVER_TIME:
        return 1.0 / max(proof.ratio, _LEAST) if proof.high is None or proof.high < 1.0 else None
    return proof.ratio if proof.low is None or proof.low > 1.0 else None


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
        changes = list(statement_changes(proof.plans))
        if changes:
            yield f"{proof.plans.word.value} ({tried_words(proof.plans)})"
            yield from (_change_line(change) for change in changes[:_CHANGES_SHOWN])
            others = changes[_CHANGES_SHOWN:]
            if others:
                share = percent(sum(change.time_share for change in others))
                yield f"and {count(len(others), 'other statement')} with {share} of the time"
        else:
            yield f"{proof.plans.word.value}: {plan_proof_words(proof.plans)}"
    words = blocks_line(finding, proof)
    if words is not None:
        yield words
    yield from _before_after(proof)
    yield from doubt_lines(proof)


def short_proof(proof: Proof) -> str:
    """A proof in one line: its words, and of its figures the one that decides."""
    parts = []
    if proof.plans is not None:
        first = next(statement_changes(proof.plans), None)
        about = f" ({first.buffers} buffers per call)" if first is not None and first.is_better else ""
        parts.append(f"{proof.plans.word.value}{about}")
    if proof.ratio is not None and proof.word is not None:
        word = f"{proof.blocks} by blocks" if proof.blocks is not None else proof.word
        parts.append(f"{word}: {gain_words(proof)}{_interval(proof)}")
    elif proof.plans is None:
        parts.append(f"no verdict{f': {proof_reason(proof.reason)}' if proof.reason else ''}")
    return "; ".join(parts)


def blocks_line(finding: Finding | None, proof: Proof) -> str | None:
    """faster by blocks: server time falls to 4.2 %, 95 % CI 3.8 % to 4.7 % (on twin of shop); why there is none."""
    if proof.ratio is None and proof.plans is not None:
        return f"no blocks of trials: {proof_reason(proof.reason)}" if proof.reason else None
    if proof.word is None or proof.ratio is None:
        reason = f": {proof_reason(proof.reason)}" if proof.reason else ""
        return f"no verdict{f' on {proof.on}' if proof.on else ''}{reason}"
    word = f"{proof.blocks} by blocks" if proof.blocks is not None else proof.word
    return f"{word}: {gain_words(proof)}{_interval(proof)} ({_about(finding, proof)}{proof.on})"


def _interval(proof: Proof) -> str:
    if proof.low is None or proof.high is None or proof.ratio is None:
        return ""
    if proof.measure == _SERVER_TIME:
        if proof.high < _SMALL:
            return f", 95 % CI {max(proof.low, 0.0) * 100:.1f} % to {proof.high * 100:.1f} %"
        return f", 95 % CI {percent(max(proof.low, 0.0))} to {percent(proof.high)}"
    return f", 95 % CI {range_words((proof.low, proof.high), proof.ratio)}"


def _change_line(change: StatementChange) -> str:
    """768 → 12 buffers, 4.1 ms → 20 µs per call, Index Scan for Seq Scan, 100 % of the time: select ..."""
    read = f"{change.buffers} buffers" if change.was_run else change.buffers
    read = ", ".join(part for part in (read, change.time) if part) + (" per call" if change.was_run else "")
    parts = [read, change.nodes, f"WAL {change.wal}" if change.wal else "", f"{change.share} of the time"]
    line = f"{', '.join(part for part in parts if part)}: {change.text}"
    return line if len(line) <= _LINE_SHOWN else f"{line[: _LINE_SHOWN - 3]}..."


def doubt_lines(proof: Proof) -> Iterator[str]:
    yield from (f"doubt: {doubt}" for doubt in doubts_of(proof))


def cured_numbers(checkup: Checkup, numbered: Mapping[str, int]) -> str:
    """The findings whose treatments were tried together: 1, 2. ``numbered`` are by key."""
    steps = checkup.cure.steps if checkup.cure is not None else ()
    return ", ".join(str(numbered[step.finding]) for step in steps if step.finding in numbered)


def all_cures_words(checkup: Checkup, numbered: Mapping[str, int]) -> str | None:
    """What all cures give together; None where they were not tried."""
    if checkup.cure is None:
        return None
    return f"the treatments of {cured_numbers(checkup, numbered)} together: {short_proof(checkup.cure.proof)}"


def budget_words(checkup: Checkup) -> str | None:
    """Which findings the budget left no time for; None where it was enough."""
    if not checkup.not_reached or checkup.budget_s is None:
        return None
    names = ", ".join(dict.fromkeys(key.partition(":")[0] for key in checkup.not_reached))
    return f"the budget of {checkup.budget_s:g} s ended before the blocks of trials of {names}"


def unexplained_lines(left: Unexplained) -> Iterator[tuple[str, str]]:
    """Labels and lines: how much no finding accounts for, and where that time goes."""
    of = "all statements" if left.share_by is ShareBasis.COUNTERS else "active sessions"
    yield "unexplained", f"no finding accounts for {percent(left.share)} of the time of {of}"
    if left.waits:
        yield "waits", ", ".join(f"{wait.name} {percent(wait.share)}" for wait in left.waits)
    for statement in left.statements:
        yield "statement", f"{percent(statement.share)}  {' '.join(statement.name.split())}"
    if left.settings:
        yield (
            "settings",
            ", ".join(f"{setting.name} = {setting.value} (default {setting.default})" for setting in left.settings[:3]),
        )
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


def gain_words(proof: Proof) -> str:
    """server time falls to 4 %; 6.10x throughput; the workload visits 2 % of its buffers."""
    if proof.ratio is None and proof.plans is not None:
        return f"the workload visits {percent(max(proof.plans.ratio, _LEAST))} of its buffers"
    if proof.measure == _SERVER_TIME and proof.ratio is not None:
        return f"server time {_changes_to(proof.ratio)}"
    measure = "throughput" if proof.measure.lower() in ("tps", "") else proof.measure
    return f"{ratio_words(proof.ratio or 1.0)} {measure}"


def _changes_to(ratio: float) -> str:
    """falls to 4 %; rises to 130 %."""
    return f"{'falls' if ratio < 1.0 else 'rises'} to {percent(max(ratio, _LEAST))}"


def _about(finding: Finding | None, proof: Proof) -> str:
    """Which treatment was tried, where it is not the one that stands above."""
    if finding is None:
        return "on "
    tried, shown = _treatment(finding, proof.treatment), _treatment(finding, None)
    return f"{tried.title}, on " if tried is not None and tried is not shown else "on "


def _treatment(finding: Finding, number: int | None) -> Treatment | None:
    at = number if number is not None and number < len(finding.treatments) else usual_treatment(finding)
    return finding.treatments[at] if at is not None else None


def _action(finding: Finding, treatment: Treatment | None) -> str:
    """Raise work_mem to 8MB; Vacuum the table (public.orders)."""
    if treatment is None:
        return headline(finding)
    title = " ".join(treatment.title.split())
    subject = " ".join(finding.subject.split())
    about = finding.tables[0] if finding.tables and subject.startswith("statement ") else subject
    named = any(
        word and word in title
        for word in (subject, *finding.tables, *(table.rpartition(".")[2] for table in finding.tables))
    )
    return f"{title[:1].upper()}{title[1:]}" + ("" if named else f" ({about})")


def seen_line(finding: Finding) -> str | None:
    """The first evidence in one line with few figures; for a statement its text alone."""
    first = next(iter(finding.evidence), None)
    if first is None:
        return None
    name = " ".join(first.name.split())
    facts = ", ".join(fact_words(fact) for fact in first.facts[:FACTS_SHOWN])
    return f"{name}: {facts}" if facts else name
