"""What goes into the load engine and what comes out: the Python side of crates/load/src/spec.rs and result.rs.

Both sides speak JSON. Times carry their unit in the name; ``_us`` is microseconds, ``_s`` seconds as a float.
"""

from __future__ import annotations

from enum import Enum

from msgspec import UNSET, UnsetType

from pgclinic.model.record import Record
from pgclinic.model.shell_account import ShellAccount
from pgclinic.model.tls import TlsSpec


class Protocol(str, Enum):
    """How statements travel, as in pgbench -M."""

    SIMPLE = "simple"
    EXTENDED = "extended"
    PREPARED = "prepared"


class Target(Record):
    """Where the engine connects. ``host`` is a socket directory when it starts with a slash."""

    host: str
    port: int
    user: str
    database: str
    password: str | None = None
    application_name: str = "pgclinic-load"
    options: str | None = None
    tls: TlsSpec | None = None


class ScriptValues(Record):
    """Rows that ``\\draw name`` deals to all clients in turn; the variables ``columns`` get the values of one row.

    A value is the text that PostgreSQL reads for it, None is NULL. With the simple protocol it is sent as a quoted
    literal, else as a parameter. ``:name_number`` is a number that no other draw of the load gets.

    In the files of a run ``rows_in`` names the one that has the rows, for all trials together; here are none then.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    rows_in: str | UnsetType = UNSET


class Script(Record):
    """One pgbench script; ``weight`` is its share among all scripts, ``values`` what its ``\\draw`` commands deal."""

    name: str
    text: str
    weight: int = 1
    values: tuple[ScriptValues, ...] = ()


class Convention(str, Enum):
    """Whose reading of TPC-C: BenchBase's, which most published figures come from, or the specification's.

    ``benchbase`` binds a terminal to a range of districts, delivers up to the last of that range, and tries a
    transaction that ended in 40001 again with new parameters. ``spec`` draws the district, delivers all ten, tries
    40001 and 40P01 again with the same inputs, and draws the constants of NURand once a run.
    """

    BENCHBASE = "benchbase"
    SPEC = "spec"


class Isolation(str, Enum):
    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"
    SERIALIZABLE = "serializable"


class TpccSpec(Record):
    """TPC-C instead of scripts. Its five transactions stand in the result as scripts of their names.

    ``waits`` are the key and think times of the specification; without them a terminal never rests.
    """

    warehouses: int
    convention: Convention = Convention.BENCHBASE
    isolation: Isolation = Isolation.SERIALIZABLE
    waits: bool = False


class Pace(Record):
    """When the next transaction is due: closed loop when ``rate_tps`` is None, else open loop at that total rate."""

    rate_tps: float | None = None
    latency_limit_us: int | None = None


class OnError(str, Enum):
    """What a client does after a transaction that failed for good.

    ``continue`` counts it and goes on. ``abort_client`` counts it and gives the client up, unless it was a
    serialization failure or a deadlock, as pgbench does; ``abort_load`` ends the whole load then.
    """

    CONTINUE = "continue"
    ABORT_CLIENT = "abort_client"
    ABORT_LOAD = "abort_load"


class Io(str, Enum):
    """How bytes move between the engine and the kernel; ``auto`` is the best that the machine allows."""

    AUTO = "auto"
    EPOLL = "epoll"
    IO_URING = "io_uring"
    POLL = "poll"


class ShellOutput(str, Enum):
    """Where the output of \\shell goes."""

    DISCARD = "discard"
    STDOUT = "stdout"
    STDERR = "stderr"


class LogSpec(Record):
    """A log of single transactions in pgbench's format.

    The files are ``{prefix}.{process}`` for the first thread and ``{prefix}.{process}.{thread}`` for the others.
    ``sampling_rate`` is the share that is logged, None is all. With ``aggregate_interval_s`` there is a line for every
    interval instead of one for every transaction. ``failures_detailed`` tells serialization failures and deadlocks
    apart.
    """

    prefix: str
    sampling_rate: float | None = None
    aggregate_interval_s: int | None = None
    failures_detailed: bool = False


class WindowSpan(Record):
    """One window in seconds after the origin; its end is not part of it."""

    begin_s: float
    end_s: float


class Windows(Record):
    """When the clients of an interleaved load may begin transactions: in ``spans`` alone, in order of time.

    ``origin_monotonic_us`` is time.monotonic_ns() / 1000 (CLOCK_MONOTONIC of this host): loads that are given the same
    origin agree on the time without sharing anything. In the first ``guard_s`` of each window nothing counts; it must
    be longer than a transaction takes, so that as many transactions are running when counting begins as when it ends.
    """

    origin_monotonic_us: int
    spans: tuple[WindowSpan, ...]
    guard_s: float = 0.0


class LoadSpec(Record):
    """One load: who connects, what runs, how long.

    A run is warm-up, measure, drain. With ``measure_s`` None the run ends after ``transactions_per_client``, and after
    ``limit_s`` whatever happens. ``drain_s`` is how long statements in flight at the end may still take before they are
    cancelled; they do not count. With ``finish_s`` transactions that run when ``measure_s`` is over go on to their end
    and count, as in pgbench, for at most that long. ``max_tries`` is how often a transaction that ended in 40001 or
    40P01 is tried in all, 0 is without limit. ``reconnect`` is a new connection for every transaction.
    ``statement_timeout_s`` is how long a statement may go unanswered before it is cancelled and its connection given
    up, None is without limit. ``time_meta_commands`` lists and times the meta commands that only compute, too.
    ``verbose_errors`` keeps errors one by one, ``second_histograms`` gives every second its histogram. With
    ``all_clients`` a client that gets no session ends the load before it begins. With ``prepare_at_connect`` the
    prepared protocol parses all statements right after connecting, outside of what is measured; else each with its
    first use, as pgbench. ``events`` passes on what clients and the server say when they say it. With ``tpcc`` there
    are no ``scripts``. ``shell_account`` runs the shell commands of scripts; None is the engine's own account. With
    ``windows`` transactions begin in these alone; their length without guards is ``warm_up_s`` and ``measure_s``
    together, in this order. Clients stay connected between windows and send nothing.
    """

    target: Target
    scripts: tuple[Script, ...] = ()
    clients: int = 1
    threads: int = 1
    protocol: Protocol = Protocol.SIMPLE
    pace: Pace = Pace()
    warm_up_s: float = 0.0
    measure_s: float | None = None
    transactions_per_client: int | None = None
    limit_s: float = 3600.0
    drain_s: float = 1.0
    finish_s: float | None = None
    seed: int = 0
    variables: dict[str, str] = {}
    max_tries: int = 1
    on_error: OnError = OnError.CONTINUE
    reconnect: bool = False
    connect_timeout_s: float = 10.0
    statement_timeout_s: float | None = None
    all_clients: bool = False
    prepare_at_connect: bool = True
    events: bool = False
    shell_output: ShellOutput = ShellOutput.DISCARD
    time_meta_commands: bool = False
    verbose_errors: bool = False
    second_histograms: bool = False
    log: LogSpec | None = None
    io: Io = Io.AUTO
    spin: bool = False
    shell_account: ShellAccount | None = None
    tpcc: TpccSpec | None = None
    windows: Windows | None = None
    format: int = 1


class Histogram(Record):
    """An HDR histogram of microseconds: summary values and, for merging, the V2-compressed base64 form.

    Least, greatest, mean and standard deviation are exact.
    """

    count: int
    min_us: int
    max_us: int
    mean_us: float
    p50_us: int
    p90_us: int
    p95_us: int
    p99_us: int
    p999_us: int
    p9999_us: int
    hdr: str
    stddev_us: float = 0.0


class Failure(Record):
    """Transactions that failed in one way, or clients that got no session: then ``script`` is empty.

    ``sqlstate`` has five characters from the server; or it is ``connection`` (lost, or never had), ``timeout`` (no
    answer in time), ``script`` (the script itself is at fault), ``protocol`` (the server was not understood).
    ``statement`` is the index among the script's statements, -1 if none is at fault. ``command`` is the number among
    all commands of the script, from 0 as in pgbench's messages, -1 if none is at fault. ``script_number`` counts the
    scripts from 0, as two may have the same name; it is -1 while connecting. ``message`` is the first of its kind.
    """

    sqlstate: str
    script: str
    statement: int
    count: int
    message: str
    script_number: int = -1
    command: int = -1


class CommandKind(str, Enum):
    SQL = "sql"
    META = "meta"


class StatementResult(Record):
    """One command of a script that takes time, as SQL and \\sleep do; ``line`` counts from 1.

    With ``time_meta_commands`` it may be any command. ``failures`` also counts those that a retry has cured;
    ``retries`` is how often its failure made the transaction begin again.
    """

    line: int
    text: str
    executions: int
    failures: int
    latency: Histogram
    kind: CommandKind = CommandKind.SQL
    retries: int = 0


class ScriptResult(Record):
    """What one script, or one of TPC-C's transactions, did.

    ``transactions`` are commits; ``rolled_back`` those that rolled back because their inputs said so (the 1 % of
    NewOrder), which is no failure. ``begun_before`` is how many of all that ended had started before measuring did.
    """

    name: str
    weight: int
    transactions: int
    failed: int
    skipped: int
    retried: int
    retries: int
    latency: Histogram
    statements: tuple[StatementResult, ...]
    late: int = 0
    rolled_back: int = 0
    begun_before: int = 0


class SecondFailure(Record):
    """Transactions of a second that failed for good in one way; ``sqlstate`` as in Failure."""

    sqlstate: str
    count: int


class SecondResult(Record):
    """One second of one script. A transaction counts in the second in which it ended, from the start of measuring.

    ``lag_us_sum`` is how late its transactions started (open loop). ``hdr`` is their histogram in two digits, if
    ``second_histograms`` asked for it. ``statements`` were answered in that second, also those of transactions that
    fail later. ``failures`` says how the ``failed`` ones failed. ``span_s`` is less than 1 where the load ended within
    the second.
    """

    second: int
    script: str
    transactions: int
    failed: int
    skipped: int
    retries: int
    latency_us_sum: int
    latency_us_p50: int
    latency_us_p99: int
    latency_us_max: int
    late: int = 0
    retried: int = 0
    lag_us_sum: int = 0
    hdr: str | None = None
    rolled_back: int = 0
    statements: int = 0
    failures: tuple[SecondFailure, ...] = ()
    span_s: float = 1.0


class ErrorMessage(Record):
    """One error, when it happened; ``statement``, ``command`` and ``sqlstate`` as in Failure.

    ``at_s`` counts from the start of the load, connecting included. ``tries`` is which try of the transaction it was.
    """

    at_s: float
    client: int
    script: str
    statement: int
    sqlstate: str
    tries: int
    message: str
    command: int = -1


class LogResult(Record):
    """What came of the log; ``problem`` is why lines were lost. A thread that could not write once writes no more."""

    files: tuple[str, ...]
    lines: int
    lines_lost: int
    problem: str | None


class InFlight(Record):
    """A transaction that was still running when measuring ended, and its age then."""

    client: int
    script: str
    statement: int
    age_us: int


class Engine(Record):
    """Which engine measured. ``profile`` is ``release`` or ``debug``, ``io`` ``epoll`` or ``io_uring``,
    with ``+spin`` if it never waited."""

    version: str
    profile: str
    io: str


class WindowResult(Record):
    """What one window of an interleaved load counted; ``number`` is its index in the spec.

    ``at_s`` is when it began to count, in seconds from the start of measuring. ``guarded`` transactions ended in the
    guard before that, ``overran`` ones began in the window and ended after it, the last of these ``overrun_us_max``
    later.
    """

    number: int
    at_s: float
    counted_s: float
    transactions: int
    failed: int
    rolled_back: int
    statements: int
    guarded: int
    overran: int
    overrun_us_max: int


class WindowsResult(Record):
    """How an interleaved load ran. ``each`` are the measured windows, without those of the warm-up.

    A transaction counts where it ends: in the counted part of the window in which it began. ``span_s`` is the time from
    the start of measuring to its end, ``loaded_s`` the part of it in which transactions could begin. ``overran`` ended
    after their window, ``overrun_us_sum`` later in all; ``uncounted`` are these and those that ended in a guard. What
    was running at the end of the last window is in ``LoadResult.in_flight``.
    """

    each: tuple[WindowResult, ...]
    guard_s: float
    span_s: float
    loaded_s: float
    overran: int
    overrun_us_sum: int
    uncounted: int


class LoadResult(Record):
    """What one load did between the start and the end of measuring.

    ``started_epoch_us`` is when measuring began, and seconds count from there. ``measured_s`` is the time really
    measured, ``connect_s`` what connecting took before, ``warm_up_s`` the warm-up between them. ``stopped`` says
    why the load ended: ``time``, ``transactions``, ``interrupted``, ``clients_lost`` (all clients had given up),
    ``aborted`` (``on_error``) or ``limit`` (``limit_s``). ``skipped`` transactions were passed over because they were
    later than
    ``latency_limit_us`` already, ``late`` ones took longer than that. ``occupancy`` is the share of the time that the
    engine's busiest thread did not wait. Open loop only: ``lag`` is how late the engine itself began transactions that
    were due, ``schedule_lag`` how late transactions that succeeded started for any reason, ``offered`` how many were
    due while measuring, ``unserved`` how many of these had not started at its end. ``reconnect_s`` is the time that all
    connections took with ``reconnect``. ``messages`` are the errors one by one if ``verbose_errors`` asked for them, a
    thousand a thread; ``messages_dropped`` is how many more there were. ``statements`` is how many were answered while
    measuring, also of transactions that failed: what still moves on a server that hardly commits. ``paused_s`` is
    for how long the engine was stopped while measuring, by a signal or with the whole machine, ``longest_pause_s`` the
    longest of these pauses; waiting for a processor is none.

    With ``windows`` the load was interleaved: ``measured_s`` is then the counted time of all windows, every figure is
    of that time, and ``seconds`` are seconds of it: between windows they stand still.
    """

    engine: Engine
    started_epoch_us: int
    connect_s: float
    measured_s: float
    stopped: str
    clients: int
    clients_lost: int
    transactions: int
    failed: int
    skipped: int
    retried: int
    retries: int
    latency: Histogram
    scripts: tuple[ScriptResult, ...]
    seconds: tuple[SecondResult, ...]
    failures: tuple[Failure, ...]
    in_flight: tuple[InFlight, ...]
    client_cpu_user_s: float
    client_cpu_system_s: float
    lag: Histogram | None = None
    offered: int | None = None
    unserved: int | None = None
    late: int = 0
    reconnects: int = 0
    occupancy: float = 0.0
    warm_up_transactions: int = 0
    warm_up_s: float = 0.0
    schedule_lag: Histogram | None = None
    reconnect_s: float = 0.0
    messages: tuple[ErrorMessage, ...] = ()
    messages_dropped: int = 0
    log: LogResult | None = None
    rolled_back: int = 0
    statements: int = 0
    paused_s: float = 0.0
    longest_pause_s: float = 0.0
    windows: WindowsResult | None = None
    format: int = 1

    @property
    def tps(self) -> float:
        """Transactions committed per second of measuring."""
        return self.transactions / self.measured_s if self.measured_s > 0 else 0.0

    @property
    def span_s(self) -> float:
        """Seconds from the start of measuring to its end, with the pauses between windows."""
        return self.windows.span_s if self.windows is not None else self.measured_s

    @property
    def loaded_s(self) -> float:
        """Seconds of ``span_s`` in which transactions could begin."""
        return self.windows.loaded_s if self.windows is not None else self.measured_s

    @property
    def served(self) -> int:
        """Transactions that ended within ``span_s``, counted or not: what the server's own counters have seen."""
        return self.transactions + (self.windows.uncounted if self.windows is not None else 0)
