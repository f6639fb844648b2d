"""Every arm counted: commits and what else ended, what was still running, and what the server did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.model.load import SecondFailure
from pgclinic.model.study import Counter, Study
from pgclinic.model.verdict import ArmSeen, Verdict
from pgclinic.report.parts.table import PageTable
from pgclinic.report.sections.ladder.steps import LadderStep, counters_seen, is_ladder, ladder_steps
from pgclinic.report.words.figures import counter_words, number

_NONE = "-"

#: How many arms' heads name a counter; the study file's words for it stand with its claim.
_HEADS: dict[str, str] = {
    Counter.BUFFER_HITS_PER_TRANSACTION: "Buffer hits per commit",
    Counter.PROBE_PAGES: "Pages per probe",
    Counter.PROBE_SEQUENTIAL_SCANS: "Sequential scans in the probe's plan",
    Counter.HIT_RATIO: "Hit ratio",
    Counter.READ_CALLS_PER_TRANSACTION: "Read calls per commit",
    Counter.VACUUMS_PER_S: "Vacuums/s",
    Counter.ANALYZES_PER_S: "Analyzes/s",
    Counter.CHECKPOINT_INTERVAL_S: "Checkpoint interval",
    Counter.WAL_BYTES_PER_TRANSACTION: "WAL a commit",
    Counter.SEQUENTIAL_SCAN_SHARE: "Sequential scans, share",
    Counter.SERVER_CPU_SHARE: "CPU share of the server",
    Counter.SERVER_CPU_US_PER_TRANSACTION: "Server's CPU a commit",
    Counter.BACKEND_MEMORY_BYTES: "Memory per backend",
    Counter.READ_CALLS_PER_S: "Read calls/s",
    Counter.LOCK_WAIT_SHARE: "Backends waiting for a lock",
    Counter.HORIZON_AGE_XIDS: "Age of the xmin horizon, transactions",
    Counter.TPS_KEPT_AFTER_AN_HOUR: "TPS predicted after one hour, share",
    Counter.DEAD_ROWS_KEPT_SHARE: "Dead rows not removable by VACUUM",
    Counter.LOGGED_MEMORY_READ_SHARE: "Logged memory read back",
    Counter.BACKENDS_ON_ONE_QUERY_ID: "Backends on one query id",
    Counter.QUERY_IDS: "Query ids",
    Counter.STATEMENT_TEXTS: "Logged texts",
    Counter.PLANS_LINKED_SHARE: "Plans linked by id",
    Counter.FINGERPRINT_AGREEMENT: "Ids and fingerprints agree",
}

#: What a SQLSTATE meant for the transactions that it ended.
_FATES = {
    "40001": "given up",
    "40P01": "deadlock",
    "53200": "out of memory",
    "53300": "too many connections",
    "57014": "cancelled",
    "57P01": "terminated by the server",
    "connection": "connection lost",
    "timeout": "timeout",
    "script": "script error",
    "protocol": "protocol error",
}


@dataclass(frozen=True)
class ArmsView:
    """How fast every arm was, what did not commit, what the server did; ``paragraph`` explains where that is needed.

    Outside ladders ``rest`` is None where everything committed, and ``counters`` stand with their claims alone.
    """

    title: str
    speed: PageTable
    rest: PageTable | None
    counters: PageTable | None
    paragraph: str
    notes: tuple[str, ...]


def arms_view(study: Study, verdict: Verdict) -> ArmsView | None:
    """None for a verdict that kept no figures arm by arm."""
    if not verdict.arms:
        return None
    ladder, tpcc = is_ladder(verdict), study.workload.tpcc is not None
    steps = ladder_steps(study, verdict)
    return ArmsView(
        title="Every step" if ladder else "Every arm",
        speed=speed_table(steps, ladder=ladder, tpcc=tpcc),
        rest=rest_table(verdict.arms, tpcc=tpcc) if ladder or any(map(_has_rest, verdict.arms)) else None,
        counters=counters_table(verdict.arms) if ladder else None,
        paragraph=how_counted(verdict.arms) if tpcc else "",
        notes=tuple(f"{step.seen.arm}, published: {step.published_note}." for step in steps if step.published_note),
    )


def speed_table(steps: Sequence[LadderStep], *, ladder: bool, tpcc: bool) -> PageTable:
    """Commits a second beside what the source and BenchBase would call them."""
    heads = ["Arm", "Commits/s here", "95 % CI", "Commits", "Statements/s"]
    rows = []
    for step in steps:
        seen = step.seen
        ran = seen.refusal is None and seen.trials > 0
        cells = [seen.arm, step.measured_text, step.limits_text or _NONE]
        cells += [f"{seen.commits:,} in {_seconds(seen.exposure_s)}", number(seen.statements_per_s)]
        cells += [number(seen.throughput), number(seen.goodput)] if tpcc else []
        cells = cells if ran else [seen.arm, step.measured_text, *([_NONE] * (len(cells) - 2))]
        rows.append((cells[0], *([step.published_text] if ladder else []), *cells[1:]))
    heads[1:1] = ["Published TPS"] if ladder else []
    heads += ["BenchBase's throughput", "BenchBase's goodput"] if tpcc else []
    caption = "All usable trials of each arm, counted in the measured time only"
    return PageTable(caption=caption, heads=tuple(heads), rows=tuple(rows))


def _has_rest(arm: ArmSeen) -> bool:
    return bool(arm.refusal or arm.rolled_back or arm.failures or arm.running)


def rest_table(arms: Sequence[ArmSeen], *, tpcc: bool) -> PageTable:
    """What became of the transactions that did not commit: rolled back, failed, or still running."""
    heads = ["Arm", *(["Rolled back"] if tpcc else []), "Running at the end", "Oldest of these", "Failed"]
    rows = []
    for arm in arms:
        cells = [f"{arm.rolled_back:,}"] if tpcc else []
        cells += [number(arm.running), _seconds(arm.oldest_s) if arm.oldest_s is not None else _NONE]
        cells += [failures_text(arm.failures)]
        if arm.refusal is not None:
            cells = [*([_NONE] * (len(cells) - 1)), f"the server refused: {arm.refusal}"]
        rows.append((arm.arm, *cells))
    caption = "Transactions that did not commit; running at the end is a mean over the trials"
    return PageTable(caption=caption, heads=tuple(heads), rows=tuple(rows))


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{number(value)} s"


def failures_text(failures: Sequence[SecondFailure]) -> str:
    """How transactions failed, the most frequent way first: 1,204 given up (40001)."""
    ordered = sorted(failures, key=lambda one: -one.count)
    return "; ".join(_failure_text(one) for one in ordered if one.count) or "none"


def _failure_text(failure: SecondFailure) -> str:
    fate = _FATES.get(failure.sqlstate)
    if fate is None:
        return f"{failure.count:,} with {failure.sqlstate}"
    return f"{failure.count:,} {fate}" + (f" ({failure.sqlstate})" if len(failure.sqlstate) == 5 else "")


def how_counted(arms: Sequence[ArmSeen]) -> str:
    """Why three figures stand for one speed, and what the transactions still running say of the slow arms."""
    text = (
        "Commits are those confirmed to clients in the measured time. BenchBase's throughput counts every "
        "transaction that started and ended in that time, including those rolled back, given up or failed; its goodput "
        "also counts commits of the warm-up, but divides by the measured time only. Statements are counted in "
        "transactions of any outcome, so they show activity even with few commits. Given up (40001) are those whose "
        "attempts all failed to serialize."
    )
    waiting = [arm for arm in arms if arm.tps > 0 and arm.running > 0]
    if not waiting:
        return text
    slowest = max(waiting, key=lambda arm: arm.running / arm.tps)
    mean_s = slowest.running / slowest.tps
    window_s = slowest.exposure_s / max(1, slowest.trials)
    text += (
        " By Little's law, clients in flight divided by commits per second is the mean latency,"
        f" in {slowest.arm} about {_seconds(mean_s)}"
    )
    return f"{text}, longer than the {_seconds(window_s)} that a trial measured." if mean_s > window_s else f"{text}."


def counters_table(arms: Sequence[ArmSeen]) -> PageTable | None:
    """The mechanism counters arm by arm; None where no arm has one. Statements/s stand in the other table."""
    counters = [counter for counter in counters_seen(arms) if counter != Counter.STATEMENTS_PER_S]
    if not counters:
        return None
    return PageTable(
        caption="Counters of the server, means over the trials",
        heads=("Arm", *(_HEADS.get(counter, counter.replace("_", " ").capitalize()) for counter in counters)),
        rows=tuple(
            (arm.arm, *(counter_words(one, arm.counters[one]) if one in arm.counters else _NONE for one in counters))
            for arm in arms
        ),
    )
