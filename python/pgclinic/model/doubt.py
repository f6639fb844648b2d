"""Reasons to distrust a trial, a block or a run: typed, with the numbers and names that they rest on, without words.

``report/words/doubts.py`` words them. A detector stands where its evidence is: in ``trial`` where one trial shows it,
in ``judge/doubts`` where the trials of several arms do.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.calibration import Refusal
from pgclinic.model.record import Record


class DoubtKind(str, Enum):
    """What a doubt is about; several facts may raise one kind."""

    STARVED_CPU = "starved_cpu"
    CLIENT_BOUND = "client_bound"
    FAILED_TRANSACTIONS = "failed_transactions"
    CLOCK_JUMP = "clock_jump"
    NO_COUNTERS = "no_counters"
    SHORT_TRIAL = "short_trial"
    SERVER_NOT_VISIBLE = "server_not_visible"
    SETTING_LEFT_OUT = "setting_left_out"
    ARM_LEFT_OUT = "arm_left_out"
    NO_STEADY_STATE = "no_steady_state"
    CHECKPOINT_IN_ONE_ARM = "checkpoint_in_one_arm"
    THROTTLING = "throttling"
    OBSERVERS_COST = "observers_cost"
    TOO_FEW_EVENTS = "too_few_events"
    DIFFERENT_MACHINE = "different_machine"
    CALIBRATION_REFUSED = "calibration_refused"
    CALIBRATION_FAILED = "calibration_failed"
    STALLED_TRIAL = "stalled_trial"
    ORDER_EFFECT = "order_effect"
    TRIALS_LOST = "trials_lost"
    AUTOVACUUM_IN_ONE_ARM = "autovacuum_in_one_arm"
    PLANS_DIFFER = "plans_differ"
    MEMORY_PRESSURE = "memory_pressure"
    IO_PRESSURE = "io_pressure"
    UNEQUAL_CPU = "unequal_cpu"
    UNEVEN_BLOCKS = "uneven_blocks"
    STOPPED_LOAD = "stopped_load"
    SERVER_RESTARTED = "server_restarted"
    BLED_INTO_WINDOW = "bled_into_window"
    WINDOWS_TOO_SHORT = "windows_too_short"
    PERIODIC_NOISE = "periodic_noise"


class CpuTaken(Record, tag_field="fact", tag="cpu_taken"):
    """Other processes took the doubt's share of the CPU; server and load obtained ``obtained_s`` of ``available_s``."""

    obtained_s: float
    available_s: float


class EngineBusy(Record, tag_field="fact", tag="engine_busy"):
    """The threads of the load engine were busy for the doubt's share of the time."""

    threads: int


class TransactionsFailed(Record, tag_field="fact", tag="transactions_failed"):
    """How many of the transactions tried failed, and with which SQLSTATEs."""

    failed: int
    tried: int
    sqlstates: tuple[str, ...]


class LoadEndedEarly(Record, tag_field="fact", tag="load_ended_early"):
    """``stopped`` is what the engine gives as the reason."""

    measured_s: float
    wanted_s: float
    stopped: str


class CountersMissing(Record, tag_field="fact", tag="counters_missing"):
    """The server's counters could not be read while the trial ran."""


class ClockSet(Record, tag_field="fact", tag="clock_set"):
    """The wall clock moved against the steady clock, by ``by_s`` seconds."""

    by_s: float


class ClockSlowed(Record, tag_field="fact", tag="clock_slowed"):
    """The mean clock of the cores in the first and in the last third of the load."""

    megahertz_early: float
    megahertz_late: float


class StoppedByQuota(Record, tag_field="fact", tag="stopped_by_quota"):
    """For how long a CPU limit of the control group stopped the processes; its cores together."""

    stopped_s: float
    elapsed_s: float


class ServerHidden(Record, tag_field="fact", tag="server_hidden"):
    """The server's processes cannot be seen from this machine."""


class ServerRestarted(Record, tag_field="fact", tag="server_restarted"):
    """``seen`` are the words of what showed it, a line of the log mostly."""

    seen: str


class LoadPaused(Record, tag_field="fact", tag="load_paused"):
    """The engine's process, or the whole machine, stood still."""

    paused_s: float
    measured_s: float
    longest_s: float


class RestingServerWorked(Record, tag_field="fact", tag="resting_server_worked"):
    """What the server used while the load was on other arms of its block: shares of all cores and, where it was enough
    to matter, of the block I/O of all servers in those windows."""

    cpu_share: float
    io_share: float
    windows: int


class WorkLost(Record, tag_field="fact", tag="work_lost"):
    """In ``blocks`` interleaved blocks transactions were too long for their windows: counted work and counted time of
    an arm differ by up to the doubt's share. These blocks are no evidence."""

    blocks: int


class ObserversCpu(Record, tag_field="fact", tag="observers_cpu"):
    """CPU seconds that sampling took, the doubt's share of all that the trial used."""

    observer_s: float


class MemoryShort(Record, tag_field="fact", tag="memory_short"):
    """What of both is beyond its limit: the share of the time that processes waited, the bytes that were swapped."""

    waiting_share: float | None
    swapped_bytes: int | None


class DiskContended(Record, tag_field="fact", tag="disk_contended"):
    """Processes waited for I/O for the doubt's share of the time, those of the server for ``server_share``.

    None where those of the server were not sampled.
    """

    server_share: float | None


class NotSettled(Record, tag_field="fact", tag="not_settled"):
    """TPS still moved after ``cut_s`` of the ``measured_s`` seconds (MSER-5)."""

    cut_s: int
    measured_s: int


class WarmUpUnfinished(Record, tag_field="fact", tag="warm_up_unfinished"):
    """The warm-up ended at its limit, not because the server was steady."""

    waited_s: float


class HalvesDiffer(Record, tag_field="fact", tag="halves_differ"):
    """Over all trials of ``arm`` TPS changed by ``change``, a share, from the first to the second half."""

    arm: str
    change: float
    trials: int


class FewEvents(Record, tag_field="fact", tag="few_events"):
    """Fewer transactions than ``wanted`` ended."""

    transactions: int
    measured_s: float
    wanted: int


class MachineDifference(Record):
    """``what`` is the name of a field of ``Machine``."""

    what: str
    one: str | bool | int
    other: str | bool | int


class MachinesDiffer(Record, tag_field="fact", tag="machines_differ"):
    """What differs between the machines of two runs."""

    apart: tuple[MachineDifference, ...]


class LoneCheckpoint(Record, tag_field="fact", tag="lone_checkpoint"):
    """``arm`` had checkpoints for the doubt's share of its time more than ``other``, which had none."""

    arm: str
    other: str
    checkpoints: int
    busy_share: float


class LoneAutovacuum(Record, tag_field="fact", tag="lone_autovacuum"):
    """``what`` is ``autovacuum`` or ``autoanalyze``; it ran ``runs`` times in ``arm`` and never in ``other``."""

    what: str
    arm: str
    other: str
    runs: int


class OthersCpuUnequal(Record, tag_field="fact", tag="others_cpu_unequal"):
    """The shares of the CPU that other processes took while each arm ran."""

    arm: str
    arm_share: float
    control: str
    control_share: float


class PlanUnstable(Record, tag_field="fact", tag="plan_unstable"):
    """A statement had two plans in one arm. ``statement`` is None for the probe; plans are their nodes, in one line."""

    statement: str | None
    arm: str
    usual: str
    usual_trials: int
    other: str
    other_trials: int


class PlanOfOneArm(Record, tag_field="fact", tag="plan_of_one_arm"):
    """A statement had one plan in the arm and another in the control. ``statement`` is None for the probe."""

    statement: str | None
    arm: str
    arm_plan: str
    control: str
    control_plan: str


class OneOrder(Record, tag_field="fact", tag="one_order"):
    """``first`` ran before ``second`` in every block that counts."""

    first: str
    second: str
    blocks: int


class OrderMatters(Record, tag_field="fact", tag="order_matters"):
    """The later trial of a block was this much faster than the earlier one; negative where slower."""

    change: float


class SpreadUneven(Record, tag_field="fact", tag="spread_uneven"):
    """Standard deviations of TPS from block to block, as shares, of the arm that varies more and of the other."""

    wide: str
    wide_spread: float
    narrow: str
    narrow_spread: float


class MachineWave(Record, tag_field="fact", tag="machine_wave"):
    """TPS of both arms rose and fell together by ``swing`` around their mean, a share, once in ``period_s``. That is
    the doubt's share of their variance apart from the difference between the arms; ``ratio`` is without it."""

    period_s: float
    swing: float
    ratio: float


class CountsDispersed(Record, tag_field="fact", tag="counts_dispersed"):
    """The fewest and the most events of ``arm`` in a block, which vary more than those of one rate."""

    arm: str
    fewest: int
    most: int


class SpeedsApart(Record, tag_field="fact", tag="speeds_apart"):
    """``arm`` ran at about ``slow_share`` of its usual speed in ``slow`` of ``trials`` trials, the first of them
    ``trial``, and near its usual speed in all others; the other arm did not in these blocks."""

    arm: str
    slow: int
    trials: int
    slow_share: float
    trial: int


class ArmStalls(Record):
    """How many trials of an arm stalled, and the exact 95 % limits of the share (Clopper and Pearson)."""

    arm: str
    stalled: int
    trials: int
    low: float
    high: float


class WhileRunning(Record):
    """The ratio over the blocks without a stall, with its 95 % interval; unbounded while these are too few."""

    blocks: int
    ratio: float
    low: float | None
    high: float | None


class TrialRepeated(Record):
    """A trial that stalled on a machine that explains it: its block was run again, and trial ``by`` counts instead.

    ``because`` are the doubts of the first one."""

    block: int
    trial: int
    arm: str
    by: int
    because: tuple[DoubtKind, ...]


class TrialsStalled(Record, tag_field="fact", tag="trials_stalled"):
    """``stalled`` of ``used`` trials, and the first of them; how often each arm stalled, and the ratio without that.

    ``repeated`` are stalled trials whose block was run again; they are not among the ``used`` ones.
    """

    stalled: int
    used: int
    arm: str
    trial: int
    transactions: int
    length_s: float
    arms: tuple[ArmStalls, ...] = ()
    running: WhileRunning | None = None
    repeated: tuple[TrialRepeated, ...] = ()


class ArmLost(Record):
    """How many trials of an arm cannot be used."""

    arm: str
    lost: int
    trials: int


class TrialsLost(Record, tag_field="fact", tag="trials_lost"):
    """More trials of one arm than of the other cannot be used."""

    arms: tuple[ArmLost, ...]


class SettingLeftOut(Record):
    """A setting that needs PostgreSQL ``since``; ``otherwise`` is its value here, None where it is left out."""

    name: str
    value: str
    since: int
    otherwise: str | None


class SettingsLeftOut(Record, tag_field="fact", tag="settings_left_out"):
    """What PostgreSQL ``major`` does not have, and the arms of which nothing is left."""

    major: int
    settings: tuple[SettingLeftOut, ...]
    arms_gone: tuple[str, ...] = ()


class ArmBuffers(Record):
    """An arm and the shared_buffers that it asks for, as written."""

    arm: str
    shared_buffers: str


class BuffersTooLarge(Record, tag_field="fact", tag="buffers_too_large"):
    """Arms whose shared_buffers are more than ``memory_share`` of the machine's memory."""

    arms: tuple[ArmBuffers, ...]
    memory_share: float


class ArmSessions(Record):
    """An arm and how many sessions it asks for."""

    arm: str
    sessions: int


class SessionsTooMany(Record, tag_field="fact", tag="sessions_too_many"):
    """Arms with more sessions than fit into ``memory_share`` of the machine's memory, and how many of each kind do."""

    arms: tuple[ArmSessions, ...]
    idle_fit: int
    idle_bytes: int
    busy_fit: int
    busy_bytes: int
    memory_share: float


class CalibrationRefused(Record, tag_field="fact", tag="calibration_refused"):
    """What the A/A calibration said against the run."""

    refusal: Refusal


DoubtFacts = (
    CpuTaken
    | EngineBusy
    | TransactionsFailed
    | LoadEndedEarly
    | CountersMissing
    | ClockSet
    | ClockSlowed
    | StoppedByQuota
    | ServerHidden
    | ServerRestarted
    | LoadPaused
    | RestingServerWorked
    | WorkLost
    | ObserversCpu
    | MemoryShort
    | DiskContended
    | NotSettled
    | WarmUpUnfinished
    | HalvesDiffer
    | FewEvents
    | MachinesDiffer
    | LoneCheckpoint
    | LoneAutovacuum
    | OthersCpuUnequal
    | PlanUnstable
    | PlanOfOneArm
    | OneOrder
    | OrderMatters
    | SpreadUneven
    | CountsDispersed
    | MachineWave
    | SpeedsApart
    | TrialsStalled
    | TrialsLost
    | SettingsLeftOut
    | BuffersTooLarge
    | SessionsTooMany
    | CalibrationRefused
)


class DoubtUnit(str, Enum):
    """What a doubt was counted over."""

    TRIAL = "trial"
    BLOCK = "block"


class DoubtExtent(Record):
    """In how many of how many trials or blocks a doubt was; the doubt's facts are those of number ``worst``."""

    unit: DoubtUnit
    within: int
    total: int
    worst: int


class Doubt(Record):
    """``share`` is how much of it there was (of 1). ``extent`` is set where it was gathered over trials or blocks."""

    kind: DoubtKind
    facts: DoubtFacts
    share: float | None = None
    extent: DoubtExtent | None = None
