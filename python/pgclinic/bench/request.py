"""What a command line of ``pgclinic bench`` asks for. Scripts are read here; no server is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pgclinic.load.pgbench_tables import PgbenchTables
from pgclinic.model.load import Convention, Isolation, LogSpec, Protocol, Script
from pgclinic.model.threshold import Threshold
from pgclinic.twin.wanted import TwinWanted

DEFAULT_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True)
class Show:
    """Print this text and exit with 0; pgbench writes lists to stderr."""

    text: str
    to_stderr: bool = False


@dataclass(frozen=True)
class Address:
    """Where to connect, as given; what is None comes from the environment, as libpq and pgbench read it."""

    dbname: str | None = None
    host: str | None = None
    port: str | None = None
    user: str | None = None

    @property
    def is_given(self) -> bool:
        return any(value is not None for value in (self.dbname, self.host, self.port, self.user))


@dataclass(frozen=True)
class LabWanted:
    """A server of the lab for this run; ``version`` None is the embedded one, with a twin that of its original."""

    version: str | None
    settings: dict[str, str] = field(default_factory=dict)
    twin: TwinWanted | None = None


@dataclass(frozen=True)
class InitRequest:
    """``-i``: which tables to make. ``quiet`` says every 5 seconds how far it is, not every 100,000 rows."""

    address: Address = Address()
    tables: PgbenchTables = field(default_factory=PgbenchTables)
    quiet: bool = False
    plain: bool = False
    debug: bool = False


@dataclass(frozen=True)
class TpccInitRequest:
    """``--tpcc -i``. The same ``seed`` and number of warehouses are the same rows, however many connections fill."""

    address: Address = Address()
    warehouses: int = 1
    seed: int = 0
    connections: int | None = None
    quiet: bool = False
    plain: bool = False
    replace: bool = False
    check: bool = True
    debug: bool = False


@dataclass(frozen=True)
class TpccWanted:
    """``--tpcc``. What is None follows from the data: all warehouses there are, ten terminals for each.

    ``check`` is whether the consistency conditions are checked after the run.
    """

    warehouses: int | None = None
    terminals: int | None = None
    convention: Convention = Convention.BENCHBASE
    isolation: Isolation = Isolation.SERIALIZABLE
    waits: bool = False
    check: bool = False


@dataclass(frozen=True)
class ChosenScript:
    """A script as the engine gets it; ``builtin`` is its name for ``-b``, None for a file."""

    script: Script
    builtin: str | None = None


@dataclass(frozen=True)
class Outputs:
    """Files and forms of the result, and of the progress. ``seconds`` end in .jsonl or .parquet.

    ``wants_report`` without ``report`` is a file whose name follows from the run.
    """

    plain: bool = False
    as_json: bool = False
    seconds: tuple[Path, ...] = ()
    hdr: Path | None = None
    runs: Path | None = None
    wants_report: bool = False
    report: Path | None = None
    export: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchRequest:
    """A run. Exactly one of ``transactions`` and ``duration_s`` ends it; ``scale`` is None when not given.

    ``is_converted`` is whether scripts were in another encoding than UTF-8, which is what the engine sends.
    With ``tpcc`` there are no scripts, and ``clients`` may only be settled when the data have been seen. On a twin
    without scripts both come from its workload: ``clients`` is 0 until it has been read.
    """

    scripts: tuple[ChosenScript, ...]
    is_converted: bool = False
    tpcc: TpccWanted | None = None
    address: Address = Address()
    lab: LabWanted | None = None
    clients: int = 1
    threads: int = 1
    protocol: Protocol = Protocol.SIMPLE
    transactions: int | None = None
    duration_s: int | None = None
    warm_up_s: float = 0.0
    rate_tps: float | None = None
    latency_limit_ms: float | None = None
    variables: dict[str, str] = field(default_factory=dict)
    scale: int | None = None
    max_tries: int = 1
    reconnect: bool = False
    exit_on_abort: bool = False
    vacuum: bool = True
    vacuum_all: bool = False
    report_per_command: bool = False
    failures_detailed: bool = False
    verbose_errors: bool = False
    progress_s: int = 0
    progress_timestamp: bool = False
    seed: int = 0
    log: LogSpec | None = None
    spin: bool = False
    debug: bool = False
    percentiles: tuple[float, ...] = DEFAULT_PERCENTILES
    latency_percentiles: bool = False
    fail_if: tuple[Threshold, ...] = ()
    find_rate: Threshold | None = None
    until_stable: bool = False
    observe: bool = False
    outputs: Outputs = Outputs()

    @property
    def needs_tables(self) -> bool:
        """Whether a builtin script runs, which works on the tables of ``-i``."""
        return any(chosen.builtin is not None for chosen in self.scripts)


def seed_words(seed: int) -> str:
    """What pgbench says when a seed was asked for."""
    return f"setting random seed to {seed}"
