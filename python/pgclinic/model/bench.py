"""What ``pgclinic bench`` was asked and what came out. Times carry their unit in the name."""

from __future__ import annotations

from pgclinic.model.activity import TrialActivity
from pgclinic.model.doubt import Doubt
from pgclinic.model.load import LoadResult, Protocol, TpccSpec
from pgclinic.model.machine import Machine
from pgclinic.model.record import Record
from pgclinic.model.run import Tool
from pgclinic.model.threshold import Threshold, ThresholdResult
from pgclinic.model.trial import CpuUse


class RateTrial(Record):
    """One rate that was tried. ``measured`` is the target's metric there, None when nothing was served.

    ``stage`` is ``bracket``, ``narrow`` or ``confirm``; ``why`` says what was missed, empty when ``kept``.
    """

    stage: str
    rate_tps: float
    served_tps: float
    measured: float | None
    kept: bool
    why: str = ""


class RateSearchResult(Record):
    """The highest rate that kept the target; ``rate_tps`` is None when none did.

    ``limited`` is ``target`` when a higher rate was seen to miss it, ``ceiling`` when none was tried any higher.
    """

    target: Threshold
    rate_tps: float | None
    limited: str
    trials: tuple[RateTrial, ...]


class Stability(Record):
    """What ``--until-stable`` saw: the seconds since the start that were needed, None when it never became stable."""

    stable_after_s: int | None
    window_s: int
    tps: float
    spread: float


class ScriptAsked(Record):
    """``name`` as reports show it; ``builtin`` is the name of ``-b``, None for a file."""

    name: str
    weight: int
    builtin: str | None = None


class BenchOptions(Record):
    """The command line with its defaults filled in. ``threads`` never exceeds ``clients``.

    With ``tpcc`` there are no scripts, and the clients are its terminals.
    """

    scripts: tuple[ScriptAsked, ...]
    clients: int
    threads: int
    protocol: Protocol
    seed: int
    transactions: int | None
    duration_s: int | None
    warm_up_s: float
    rate_tps: float | None
    latency_limit_ms: float | None
    max_tries: int
    reconnect: bool
    report_per_command: bool
    failures_detailed: bool
    percentiles: tuple[float, ...]
    latency_percentiles: bool
    progress_s: int = 0
    tpcc: TpccSpec | None = None


class TpccViolation(Record):
    """A consistency condition of TPC-C (clause 3.3.2) that the data break; ``key`` is the first that breaks it.

    ``expected`` is what the convention itself does to the data at that isolation level.
    """

    condition: int
    text: str
    key: str
    expected: bool = False


class TpccTransaction(Record):
    """One of the five transaction types: how each that ended while measuring ended. Latencies are of commits, in ms.

    ``share`` is of all commits, ``target_share`` of the mix that was drawn. ``rolled_back`` had to by their inputs.
    ``given_up`` ended in 40001 as often as they may be tried, ``deadlocks`` in 40P01, ``other_errors`` in anything
    else. ``retries`` are further tries, whatever came of them. Percentiles are None without a commit.
    """

    name: str
    commits: int
    share: float
    target_share: float
    rolled_back: int
    given_up: int
    deadlocks: int
    other_errors: int
    retries: int
    begun_before: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


class TpccFigures(Record):
    """TPC-C's reading of a load. Rates are per second; only commits are throughput.

    ``commits_limits`` are the exact 95 % limits of the rate of commits. ``benchbase_throughput`` and
    ``benchbase_goodput`` are what BenchBase would have printed for this load: all that began and ended while measuring,
    and the commits of warm-up and measuring by the time of measuring alone. ``new_orders_per_minute`` are commits of
    NewOrder. ``violations`` is None when consistency was not checked.
    """

    commits: float
    commits_limits: tuple[float, float]
    statements: float
    benchbase_throughput: float
    benchbase_goodput: float
    new_orders_per_minute: float
    transactions: tuple[TpccTransaction, ...]
    violations: tuple[TpccViolation, ...] | None = None


class BenchObserved(Record):
    """What ``--observe`` says of the load that is shown; the whole of it lies in the run folder among the trials.

    ``counters`` are a trial's, over the measured time. ``missing`` are the views that could not be sampled, each with
    the server's reason. ``cpu`` includes what observing itself took.
    """

    counters: dict[str, float]
    doubts: tuple[Doubt, ...]
    activity: TrialActivity | None = None
    cpu: CpuUse | None = None
    missing: dict[str, str] = {}


class BenchResult(Record):
    """One ``pgclinic bench``: what was asked, where it ran, what was measured. Never holds a secret.

    ``scale`` is what pgbench prints as the scaling factor, and TPC-C's warehouses. ``partition_method`` is None without
    partitions.
    ``load`` is the last load that ran: with a rate search, the one at the rate that was found. ``observed`` is None
    without ``--observe``.
    """

    command: tuple[str, ...]
    options: BenchOptions
    server_version: str
    host: str
    database: str
    scale: int
    load: LoadResult
    machine: Machine
    tool: Tool
    started_epoch_us: int
    exit_code: int
    partition_method: str | None = None
    partitions: int = 0
    thresholds: tuple[ThresholdResult, ...] = ()
    rate_search: RateSearchResult | None = None
    stability: Stability | None = None
    tpcc: TpccFigures | None = None
    observed: BenchObserved | None = None
    format: int = 1
