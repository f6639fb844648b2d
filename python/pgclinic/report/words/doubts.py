"""Doubts in words: what was seen, and what to do about it; one function a fact."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from pgclinic.model.doubt import (
    BuffersTooLarge,
    CalibrationRefused,
    ClockSet,
    ClockSlowed,
    CountersMissing,
    CountsDispersed,
    CpuTaken,
    DiskContended,
    Doubt,
    DoubtUnit,
    EngineBusy,
    FewEvents,
    HalvesDiffer,
    LoadEndedEarly,
    LoadPaused,
    LoneAutovacuum,
    LoneCheckpoint,
    MachinesDiffer,
    MachineWave,
    MemoryShort,
    NotSettled,
    ObserversCpu,
    OneOrder,
    OrderMatters,
    OthersCpuUnequal,
    PlanOfOneArm,
    PlanUnstable,
    RestingServerWorked,
    ServerHidden,
    ServerRestarted,
    SessionsTooMany,
    SettingsLeftOut,
    SpeedsApart,
    SpreadUneven,
    StoppedByQuota,
    TransactionsFailed,
    TrialRepeated,
    TrialsLost,
    TrialsStalled,
    WarmUpUnfinished,
    WorkLost,
)
from pgclinic.report.words.figures import count, percent, ratio, seconds, span, times
from pgclinic.report.words.refusals import refusal_words

_MORE_MEMORY = "run it on a machine with more memory"
_MORE_BLOCKS = "run eight blocks or more, and look at what holds the arm up: few blocks do not show a skew"
_FIELDS = {"cpu_model": "CPU", "memory_bytes": "bytes of memory"}


class DoubtWords(NamedTuple):
    """``label`` is what the doubt is about, as a heading; ``text`` is what was seen, ``advice`` what to do."""

    label: str
    text: str
    advice: str


class FactWords(NamedTuple):
    text: str
    advice: str


def doubt_words(doubt: Doubt) -> DoubtWords:
    """The words of its facts, and where they were found."""
    label = doubt.kind.value.replace("_", " ").capitalize().replace("cpu", "CPU").replace("Io ", "I/O ")
    text, advice = words_of(doubt.facts, doubt.share or 0.0)
    return DoubtWords(label, _extent(doubt) + text, advice)


def _extent(doubt: Doubt) -> str:
    """In 3 of 12 trials, worst 40 % (trial 7): ... Nothing for a doubt about the whole run."""
    extent = doubt.extent
    if extent is None:
        return ""
    if extent.unit is DoubtUnit.BLOCK:
        return f"in {extent.within} of {count(extent.total, 'block')} (block {extent.worst}): "
    share = f", worst {percent(doubt.share)}" if doubt.share is not None else ""
    where = f"in trial {extent.worst}" if extent.within == 1 else f"trial {extent.worst}"
    return f"in {extent.within} of {count(extent.total, 'trial')}{share} ({where}): "


@singledispatch
def words_of(facts: object, share: float) -> FactWords:
    """``share`` is the doubt's, 0 where it has none."""
    raise TypeError(f"there are no words for {type(facts).__name__}")


@words_of.register
def _cpu_taken(facts: CpuTaken, share: float) -> FactWords:
    return FactWords(
        f"other processes took {percent(share)} of the CPU; server and load obtained {facts.obtained_s:.1f} of "
        f"{facts.available_s:.1f} CPU seconds",
        "stop what else runs on this machine and repeat",
    )


@words_of.register
def _engine_busy(facts: EngineBusy, share: float) -> FactWords:
    return FactWords(
        f"the load engine's {count(facts.threads, 'thread')} {'was' if facts.threads == 1 else 'were'} busy "
        f"{percent(share)} of the time",
        "use more threads: the figure is the engine's limit, not the server's",
    )


@words_of.register
def _transactions_failed(facts: TransactionsFailed, share: float) -> FactWords:
    return FactWords(
        f"{facts.failed:,} of {facts.tried:,} transactions failed ({', '.join(facts.sqlstates)})",
        "throughput counts commits only; look at the failures in the record",
    )


@words_of.register
def _load_ended_early(facts: LoadEndedEarly, share: float) -> FactWords:
    return FactWords(
        f"measured {facts.measured_s:.1f} s of {facts.wanted_s:.1f} s ({facts.stopped.replace('_', ' ')})",
        "see why the load ended early",
    )


@words_of.register
def _counters_missing(facts: CountersMissing, share: float) -> FactWords:
    return FactWords(
        "the server's counters could not be read",
        "the server may be too slow to answer in time; the mechanism cannot be shown",
    )


@words_of.register
def _clock_set(facts: ClockSet, share: float) -> FactWords:
    return FactWords(
        f"the wall clock was set by {facts.by_s:+.1f} s while the trial ran",
        "TPS are by the steady clock and stand; distrust what is aligned by time, and repeat",
    )


@words_of.register
def _clock_slowed(facts: ClockSlowed, share: float) -> FactWords:
    return FactWords(
        f"the clock of the cores fell from {facts.megahertz_early:.0f} to {facts.megahertz_late:.0f} MHz under load",
        "let the machine cool down, or fix the frequency, so that the arms get the same cores",
    )


@words_of.register
def _stopped_by_quota(facts: StoppedByQuota, share: float) -> FactWords:
    return FactWords(
        f"a CPU limit stopped the processes for {facts.stopped_s:.1f} of {facts.elapsed_s:.1f} s",
        "lift the limit of the container, or leave cores to spare: the limit is what was measured",
    )


@words_of.register
def _server_hidden(facts: ServerHidden, share: float) -> FactWords:
    return FactWords(
        "the server's processes are not visible from this machine: its CPU is not known, nor who competes for it",
        "run pgclinic on the server's machine, or make sure that nothing else runs there",
    )


@words_of.register
def _server_restarted(facts: ServerRestarted, share: float) -> FactWords:
    return FactWords(
        facts.seen,
        "what was measured is of two servers, the second with cold caches: find out why, and repeat",
    )


@words_of.register
def _load_paused(facts: LoadPaused, share: float) -> FactWords:
    return FactWords(
        f"pgclinic was stopped for {facts.paused_s:.1f} of {facts.measured_s:.1f} s, the longest time "
        f"{facts.longest_s:.1f} s",
        "leave it in the foreground, and keep the machine or virtual machine from being suspended",
    )


@words_of.register
def _resting_server_worked(facts: RestingServerWorked, share: float) -> FactWords:
    io = f" and {percent(facts.io_share)} of the servers' I/O" if facts.io_share else ""
    return FactWords(
        f"in the windows of the other arms its server used {percent(facts.cpu_share)} of the CPU{io}",
        "run the blocks sequentially (compare --sequential): what it did then slowed the others",
    )


@words_of.register
def _work_lost(facts: WorkLost, share: float) -> FactWords:
    those = "this is" if facts.blocks == 1 else "these are"
    return FactWords(
        f"transactions are too long for the windows of {count(facts.blocks, 'interleaved block')}: counted work and "
        f"counted time of an arm differ by up to {percent(share)}, so {those} no evidence, and more are sequential",
        "run the blocks sequentially from the start: compare --sequential",
    )


@words_of.register
def _observers_cpu(facts: ObserversCpu, share: float) -> FactWords:
    return FactWords(
        f"sampling took {facts.observer_s:.1f} CPU seconds, {percent(share)} of all that the trial used",
        "sample less often; compare with a trial that is not sampled",
    )


@words_of.register
def _memory_short(facts: MemoryShort, share: float) -> FactWords:
    waited = facts.waiting_share
    parts = [f"processes waited for memory {percent(waited)} of the time"] if waited is not None else []
    if facts.swapped_bytes is not None:
        parts.append(f"{facts.swapped_bytes / 1e6:,.0f} MB were swapped")
    return FactWords(
        " and ".join(parts),
        "stop what else uses memory, or give the server less: what was measured is the machine's swapping",
    )


@words_of.register
def _disk_contended(facts: DiskContended, share: float) -> FactWords:
    own = f", the server's for {percent(facts.server_share)}" if facts.server_share is not None else ""
    return FactWords(
        f"processes waited for I/O {percent(share)} of the time{own}",
        "see what else uses this disk: a ratio that rests on fsync holds only while the disk is left alone",
    )


@words_of.register
def _not_settled(facts: NotSettled, share: float) -> FactWords:
    return FactWords(
        f"TPS had not settled after {facts.cut_s} of {facts.measured_s} s",
        "use a longer warm-up or longer trials: part of what was measured is the way to the steady state",
    )


@words_of.register
def _warm_up_unfinished(facts: WarmUpUnfinished, share: float) -> FactWords:
    return FactWords(
        f"after {facts.waited_s:.0f} s of warm-up TPS or the miss rate still changed from one bin to the next",
        "prewarm the data or let the warm-up take longer",
    )


@words_of.register
def _halves_differ(facts: HalvesDiffer, share: float) -> FactWords:
    return FactWords(
        f"TPS {'rose' if facts.change > 0 else 'fell'} by {percent(abs(facts.change))} from the first to the second "
        f"half of {facts.arm}'s {count(facts.trials, 'trial')}",
        "use a longer warm-up or longer trials: part of what was measured is the way to the steady state",
    )


@words_of.register
def _few_events(facts: FewEvents, share: float) -> FactWords:
    return FactWords(
        f"only {count(facts.transactions, 'transaction')} ended in {facts.measured_s:.0f} s",
        f"measure until {facts.wanted} have ended, or count statements instead of transactions",
    )


@words_of.register
def _machines_differ(facts: MachinesDiffer, share: float) -> FactWords:
    apart = "; ".join(
        f"{_FIELDS.get(difference.what, difference.what)} {difference.one} and {difference.other}"
        for difference in facts.apart
    )
    return FactWords(
        f"the runs are from different machines: {apart}",
        "compare ratios, never TPS: what differs between the machines differs between the runs",
    )


@words_of.register
def _lone_checkpoint(facts: LoneCheckpoint, share: float) -> FactWords:
    checkpoints = "a checkpoint" if facts.checkpoints == 1 else count(facts.checkpoints, "checkpoint")
    return FactWords(
        f"{facts.arm} spent {percent(facts.busy_share)} of its time in {checkpoints}, {facts.other} had none",
        "give a CHECKPOINT before measuring, and trials shorter or far longer than checkpoint_timeout",
    )


@words_of.register
def _lone_autovacuum(facts: LoneAutovacuum, share: float) -> FactWords:
    return FactWords(
        f"{facts.what} ran {count(facts.runs, 'time')} in {facts.arm} and not in {facts.other}",
        "turn autovacuum off for both arms if it is not what is compared, or measure for longer than its naptime",
    )


@words_of.register
def _others_cpu_unequal(facts: OthersCpuUnequal, share: float) -> FactWords:
    return FactWords(
        f"other processes took {percent(facts.arm_share)} of the CPU while {facts.arm} ran and "
        f"{percent(facts.control_share)} while {facts.control} did",
        "stop what else runs on this machine and repeat: the arms did not have the same machine",
    )


@words_of.register
def _plan_unstable(facts: PlanUnstable, share: float) -> FactWords:
    return FactWords(
        f"{_statement(facts.statement)} had two plans in {facts.arm}: {facts.usual or 'one plan'} in "
        f"{count(facts.usual_trials, 'trial')}, {facts.other or 'another plan'} in {facts.other_trials}",
        "run ANALYZE at the end of the fill, or fix what makes the planner change its mind",
    )


@words_of.register
def _plan_of_one_arm(facts: PlanOfOneArm, share: float) -> FactWords:
    return FactWords(
        f"{_statement(facts.statement)} had another plan in {facts.arm} ({facts.arm_plan or 'another plan'}) than in "
        f"{facts.control} ({facts.control_plan or 'another plan'})",
        "if the plan is not what is compared, run ANALYZE at the end of the fill and repeat",
    )


def _statement(text: str | None) -> str:
    return "the probe" if text is None else f'"{text}"'


@words_of.register
def _one_order(facts: OneOrder, share: float) -> FactWords:
    return FactWords(
        f"{facts.first} ran before {facts.second} in each of the {count(facts.blocks, 'block')} that count, so an "
        "effect of the order would look like one of the arms",
        "run more blocks: their order is counterbalanced",
    )


@words_of.register
def _order_matters(facts: OrderMatters, share: float) -> FactWords:
    return FactWords(
        f"the later trial of a block was {percent(abs(facts.change))} {'faster' if facts.change > 0 else 'slower'} "
        "than the earlier one, whichever arm it was of; the ratio is free of that, its interval is wider for it",
        "look for what one trial leaves behind for the next: a warm cache, heat, a disk that fills up",
    )


@words_of.register
def _spread_uneven(facts: SpreadUneven, share: float) -> FactWords:
    return FactWords(
        f"{facts.wide} varied by {percent(facts.wide_spread)} from block to block and {facts.narrow} by "
        f"{percent(facts.narrow_spread)} (standard deviations): noise of one arm alone may be skewed",
        _MORE_BLOCKS,
    )


@words_of.register
def _machine_wave(facts: MachineWave, share: float) -> FactWords:
    return FactWords(
        f"TPS of both arms rose and fell together by {percent(facts.swing)} about every {seconds(facts.period_s)}, "
        f"{percent(share)} of their variance; without this wave the ratio is {ratio(facts.ratio)}, and the interval "
        "contains that of both",
        "find what runs at this interval on the machine, or use another length of the trials",
    )


@words_of.register
def _speeds_apart(facts: SpeedsApart, share: float) -> FactWords:
    return FactWords(
        f"{facts.arm} ran at {percent(facts.slow_share)} of its usual speed in {facts.slow} of "
        f"{count(facts.trials, 'trial')} (the first is trial {facts.trial}): the ratio is a mean of two speeds",
        "look at what differs in that trial; few blocks do not show how often it happens, so run 12 or more",
    )


@words_of.register
def _counts_dispersed(facts: CountsDispersed, share: float) -> FactWords:
    return FactWords(
        f"{facts.arm} had from {facts.fewest:,} to {facts.most:,} events in a block, which varies more than chance "
        "explains",
        _MORE_BLOCKS,
    )


@words_of.register
def _trials_stalled(facts: TrialsStalled, share: float) -> FactWords:
    again = "; ".join(_repeated(trial) for trial in facts.repeated)
    if not facts.stalled:
        return FactWords(again, "the repeat counts; both trials are in the run")
    parts = [
        f"{count(facts.stalled, 'trial')} of {facts.used} stalled: {facts.arm} (trial {facts.trial}) had "
        f"{count(facts.transactions, 'transaction')} in {facts.length_s:g} s, where its other trials have many"
    ]
    if facts.arms:
        parts.append(
            ", ".join(
                f"{arm.arm} stalled in {arm.stalled} of {count(arm.trials, 'trial')} "
                f"(95 % CI {100 * arm.low:.1f} to {100 * arm.high:.1f} %)"
                for arm in facts.arms
            )
        )
    running = facts.running
    if running is not None:
        bounds = running.low, running.high
        interval = f"95 % CI {span((bounds[0], bounds[1]))}" if bounds[0] and bounds[1] else "too few for an interval"
        parts.append(
            f"in the {count(running.blocks, 'block')} without a stall the ratio is {times(running.ratio)}, {interval}"
        )
    if again:
        parts.append(again)
    return FactWords(
        "; ".join(parts), "look at that trial's waits, its log and the machine; the interval is wider for it"
    )


def _repeated(trial: TrialRepeated) -> str:
    reasons = " and ".join(
        {"starved_cpu": "starved CPU", "io_pressure": "I/O pressure"}[kind] for kind in trial.because
    )
    return (
        f"{trial.arm} stalled in trial {trial.trial} ({reasons}), so block {trial.block} was run again: "
        f"trial {trial.by}"
    )


@words_of.register
def _trials_lost(facts: TrialsLost, share: float) -> FactWords:
    lost = " and ".join(f"{arm.arm} {arm.lost} of {count(arm.trials, 'trial')}" for arm in facts.arms)
    return FactWords(
        f"of {lost} cannot be used",
        "see why they failed: the blocks that are left may be those in which the arm did well",
    )


@words_of.register
def _settings_left_out(facts: SettingsLeftOut, share: float) -> FactWords:
    missing = "; ".join(
        f"{setting.name} = {setting.value} (needs {setting.since}; "
        f"{'left out' if setting.otherwise is None else f'{setting.otherwise} instead'})"
        for setting in facts.settings
    )
    text = f"PostgreSQL {facts.major} cannot run all that was published: {missing}"
    if facts.arms_gone:
        text += f". Nothing is left of {' and '.join(facts.arms_gone)}, so claims about it are not judged"
    return FactWords(text, "run it on a newer version for the whole of it")


@words_of.register
def _buffers_too_large(facts: BuffersTooLarge, share: float) -> FactWords:
    sizes = ", ".join(f"{arm.arm} (shared_buffers = {arm.shared_buffers})" for arm in facts.arms)
    limit = "half" if facts.memory_share == 0.5 else percent(facts.memory_share)
    return FactWords(f"{sizes}: more than {limit} of this machine's memory, so it was not run", _MORE_MEMORY)


@words_of.register
def _sessions_too_many(facts: SessionsTooMany, share: float) -> FactWords:
    counts = ", ".join(f"{arm.arm} ({count(arm.sessions, 'session')})" for arm in facts.arms)
    return FactWords(
        f"{counts}: too many for this machine, so it was not run; about {facts.idle_fit:,} idle ones at "
        f"{facts.idle_bytes / 2**20:.2g} MB each, or {facts.busy_fit:,} busy ones at "
        f"{facts.busy_bytes / 2**20:.2g} MB, fit into {percent(facts.memory_share)} of its memory",
        _MORE_MEMORY,
    )


@words_of.register
def _calibration_refused(facts: CalibrationRefused, share: float) -> FactWords:
    words = refusal_words(facts.refusal)
    return FactWords(words.text, words.advice)
