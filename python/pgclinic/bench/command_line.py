"""The words of a command line -> what is asked for, refused where pgbench refuses.

The options are read one by one, as pgbench reads them, so that the first fault is the one that is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pgclinic import __version__
from pgclinic.bench.builtin_scripts import list_text, script_text
from pgclinic.bench.combinations import check_benchmark, check_initialize
from pgclinic.bench.getopt_long import Given, read_words
from pgclinic.bench.option_values import (
    leading_float,
    leading_integer,
    parse_integer,
    parse_percentiles,
    parse_seed,
)
from pgclinic.bench.options import ALL_OPTIONS, help_text
from pgclinic.bench.own_options import find_rate_target, lab_wanted, twin_wanted, warm_up_s
from pgclinic.bench.request import (
    DEFAULT_PERCENTILES,
    Address,
    BenchRequest,
    ChosenScript,
    InitRequest,
    Outputs,
    Show,
    TpccInitRequest,
    seed_words,
)
from pgclinic.bench.tpcc_options import (
    DURATION_S,
    TERMINALS_PER_WAREHOUSE,
    default_tries,
    refuse_without_tpcc,
    tpcc_fill_request,
    tpcc_wanted,
)
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.judge.thresholds import parse_threshold
from pgclinic.load.engine import BuiltinScript
from pgclinic.load.pgbench_tables import PgbenchTables
from pgclinic.load.script_argument import client_encoding, find_builtin, read_script, split_weight
from pgclinic.model.load import LogSpec, Protocol, Script

SEED_VARIABLE = "PGBENCH_RANDOM_SEED"
SCRIPTS_MAX = 128
STABLE_LIMIT_S = 300
FIND_RATE_TRIAL_S = 10
_STEPS = "dtgGvpf"
_PROTOCOLS = tuple(protocol.value for protocol in Protocol)


@dataclass
class PartialCommandLine:
    """A command line, half read. ``names`` are all options given; ``values`` the last value of each."""

    environment: Mapping[str, str]
    names: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    scripts: list[ChosenScript] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    settings: list[str] = field(default_factory=list)
    seconds: list[Path] = field(default_factory=list)
    export: list[str] = field(default_factory=list)
    fail_if: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    amounts: dict[str, float] = field(default_factory=dict)
    seed: int | None = None
    shown: Show | None = None


@dataclass(frozen=True)
class CommandLine:
    """``asked`` with what pgbench says on stderr before it begins."""

    asked: Show | InitRequest | TpccInitRequest | BenchRequest
    remarks: tuple[str, ...] = ()


def read_command_line(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> CommandLine:
    """What these words ask for. Raises UsageError and UnknownNameError, each naming the option."""
    if words and words[0] in ("--help", "-?"):
        return CommandLine(Show(help_text()))
    if words and words[0] in ("--version", "-V"):
        return CommandLine(Show(f"pgclinic bench {__version__}"))
    given, rest = read_words(words, ALL_OPTIONS)
    reading = PartialCommandLine(environment)
    if SEED_VARIABLE in environment:
        reading.seed = parse_seed(environment[SEED_VARIABLE], f"{SEED_VARIABLE} of the environment")
    for one in given:
        _take(one, reading)
        if reading.shown is not None:
            return CommandLine(reading.shown)
    remarks = () if reading.seed is None else (seed_words(reading.seed),)
    address = _address(reading, rest)
    if {"initialize", "tpcc"} <= reading.names:
        return CommandLine(
            tpcc_fill_request(reading.names, reading.numbers, address=address, seed=reading.seed), remarks
        )
    if "initialize" in reading.names:
        refuse_without_tpcc(reading.names)
        check_initialize(reading.names, reading.numbers)
        return CommandLine(_init_request(reading, address), remarks)
    return CommandLine(_bench_request(reading, address), remarks)


_NUMBERS = {
    "client": ("-c/--client", 1),
    "jobs": ("-j/--jobs", 1),
    "scale": ("-s/--scale", 1),
    "transactions": ("-t/--transactions", 1),
    "time": ("-T/--time", 1),
    "progress": ("-P/--progress", 1),
    "partitions": ("--partitions", 0),
    "aggregate-interval": ("--aggregate-interval", 1),
    "warehouses": ("--warehouses", 1),
    "terminals": ("--terminals", 1),
}
_AMOUNTS = {
    "rate": ("rate limit", float("inf")),
    "latency-limit": ("latency limit", float("inf")),
    "sampling-rate": ("sampling rate", 1.0),
}


def _take(given: Given, reading: PartialCommandLine) -> None:
    """Take one option in, checked as far as it can be checked alone."""
    name, value = given.name, given.value or ""
    reading.names.add(name)
    if name in _NUMBERS:
        spelled, low = _NUMBERS[name]
        reading.numbers[name] = parse_integer(value, spelled, low)
    elif name == "fillfactor":
        reading.numbers[name] = parse_integer(value, "-F/--fillfactor", 10, 100)
    elif name in _AMOUNTS:
        what, most = _AMOUNTS[name]
        amount = leading_float(value)
        if not 0 < amount <= most:
            raise UsageError(f'invalid {what}: "{value}"')
        reading.amounts[name] = amount
    elif name in _TAKERS:
        _TAKERS[name](given, value, reading)
    elif given.option.metavar is not None:
        reading.values[name] = value


def _take_builtin(given: Given, value: str, reading: PartialCommandLine) -> None:
    if value == "list":
        reading.shown = Show(list_text(), to_stderr=True)
        return
    name, weight = split_weight(value)
    _add_builtin(find_builtin(name), weight, reading)


def _take_shorthand(given: Given, value: str, reading: PartialCommandLine) -> None:
    """-N and -S, which here may carry a weight."""
    name = "simple-update" if given.name == "skip-some-updates" else "select-only"
    _add_builtin(find_builtin(name), split_weight(value)[1] if value else 1, reading)


def _take_file(given: Given, value: str, reading: PartialCommandLine) -> None:
    name, weight = split_weight(value)
    _add_script(ChosenScript(Script(name=name, text=read_script(name, reading.environment), weight=weight)), reading)


def _add_builtin(builtin: BuiltinScript, weight: int, reading: PartialCommandLine) -> None:
    script = Script(name=builtin.description, text=builtin.text, weight=weight)
    _add_script(ChosenScript(script, builtin=builtin.name), reading)


def _add_script(chosen: ChosenScript, reading: PartialCommandLine) -> None:
    if len(reading.scripts) >= SCRIPTS_MAX:
        raise UsageError(f"at most {SCRIPTS_MAX} SQL scripts are allowed")
    reading.scripts.append(chosen)


def _take_variable(given: Given, value: str, reading: PartialCommandLine) -> None:
    name, _, text = value.partition("=")
    if not name or not text:
        raise UsageError(f'invalid variable definition: "{value}"', hint="write -D name=value")
    # pgbench's names may hold any byte above 127.
    if re.fullmatch(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*", name) is None:
        raise UsageError(f'option: invalid variable name: "{name}"')
    reading.variables[name] = text


def _take_protocol(given: Given, value: str, reading: PartialCommandLine) -> None:
    if value not in _PROTOCOLS:
        raise UsageError(f'invalid query mode (-M): "{value}"', hint="known: " + ", ".join(_PROTOCOLS))
    reading.values["protocol"] = value


def _take_steps(given: Given, value: str, reading: PartialCommandLine) -> None:
    if not value:
        raise UsageError("no initialization steps specified")
    for step in value:
        if step not in _STEPS + " ":
            raise UsageError(f'unrecognized initialization step "{step}"', hint=f'allowed are "{_STEPS}"')
    reading.values["init-steps"] = value


def _take_seed(given: Given, value: str, reading: PartialCommandLine) -> None:
    reading.seed = parse_seed(value, f"--{given.name}")


def _take_partition_method(given: Given, value: str, reading: PartialCommandLine) -> None:
    if value.lower() not in ("range", "hash"):
        raise UsageError(f'invalid partition method, expecting "range" or "hash", got: "{value}"')
    reading.values["partition-method"] = value.lower()


def _take_tries(given: Given, value: str, reading: PartialCommandLine) -> None:
    tries = leading_integer(value)
    if tries < 0:
        raise UsageError(f'invalid number of maximum tries: "{value}"')
    reading.numbers["max-tries"] = tries


def _take_show_script(given: Given, value: str, reading: PartialCommandLine) -> None:
    reading.shown = Show(script_text(find_builtin(value)), to_stderr=True)


def _take_export(given: Given, value: str, reading: PartialCommandLine) -> None:
    reading.export.append(value)


def _take_seconds(given: Given, value: str, reading: PartialCommandLine) -> None:
    path = Path(value)
    if path.suffix not in (".jsonl", ".parquet"):
        raise UnknownNameError("form of --seconds", path.suffix or value, (".jsonl", ".parquet"))
    reading.seconds.append(path)


def _take_setting(given: Given, value: str, reading: PartialCommandLine) -> None:
    reading.settings.append(value)


def _take_condition(given: Given, value: str, reading: PartialCommandLine) -> None:
    reading.fail_if.append(value)


_TAKERS: dict[str, Callable[[Given, str, PartialCommandLine], None]] = {
    "builtin": _take_builtin,
    "skip-some-updates": _take_shorthand,
    "select-only": _take_shorthand,
    "file": _take_file,
    "define": _take_variable,
    "protocol": _take_protocol,
    "init-steps": _take_steps,
    "random-seed": _take_seed,
    "seed": _take_seed,
    "partition-method": _take_partition_method,
    "max-tries": _take_tries,
    "show-script": _take_show_script,
    "export": _take_export,
    "seconds": _take_seconds,
    "set": _take_setting,
    "fail-if": _take_condition,
}


def _address(reading: PartialCommandLine, rest: tuple[str, ...]) -> Address:
    dbname, words = reading.values.get("dbname"), list(rest)
    if dbname is None and words:
        dbname = words.pop(0)
    if words:
        raise UsageError(f'too many command-line arguments (first is "{words[0]}")', hint="see pgclinic bench --help")
    values = reading.values
    return Address(dbname=dbname, host=values.get("host"), port=values.get("port"), user=values.get("username"))


def _init_request(reading: PartialCommandLine, address: Address) -> InitRequest:
    steps = reading.values.get("init-steps", "dtgvp")
    if "no-vacuum" in reading.names:
        steps = steps.replace("v", " ")
    if "foreign-keys" in reading.names and "f" not in steps:
        steps += "f"
    partitions = reading.numbers.get("partitions", 0)
    tables = PgbenchTables(
        steps=steps.replace(" ", ""),
        scale=reading.numbers.get("scale", 1),
        fillfactor=reading.numbers.get("fillfactor", 100),
        unlogged="unlogged-tables" in reading.names,
        tablespace=reading.values.get("tablespace"),
        index_tablespace=reading.values.get("index-tablespace"),
        partition_method=reading.values.get("partition-method", "range") if partitions else None,
        partitions=partitions,
    )
    return InitRequest(
        address=address,
        tables=tables,
        quiet="quiet" in reading.names,
        plain="plain" in reading.names,
        debug="debug" in reading.names,
    )


def _bench_request(reading: PartialCommandLine, address: Address) -> BenchRequest:
    tpcc = tpcc_wanted(reading.names, reading.values, reading.numbers)
    twin = twin_wanted(reading.values.get("twin"), reading.values.get("twin-scale"))
    if not reading.scripts and tpcc is None and twin is None:
        _add_builtin(find_builtin("tpcb-like"), 1, reading)
    check_benchmark(
        reading.names,
        reading.numbers,
        weights=[chosen.script.weight for chosen in reading.scripts] if tpcc is None and reading.scripts else [1],
        address_given=address.is_given,
    )
    names, numbers, values = reading.names, reading.numbers, reading.values
    # 0: as many as the workload of a twin has.
    clients = numbers.get("client", 1 if twin is None else 0)
    if tpcc is not None:
        clients = tpcc.terminals or TERMINALS_PER_WAREHOUSE * (tpcc.warehouses or 1)
    duration_s, transactions = _end(reading)
    return BenchRequest(
        scripts=tuple(reading.scripts),
        is_converted=client_encoding(reading.environment) != "UTF8",
        tpcc=tpcc,
        address=address,
        lab=lab_wanted(values.get("lab", ""), reading.settings, twin) if {"lab", "twin"} & names else None,
        clients=clients,
        # How many terminals there are may only be known when the data have been seen.
        threads=min(numbers.get("jobs", 1), clients) if tpcc is None and clients else numbers.get("jobs", 1),
        protocol=Protocol(values.get("protocol", "simple" if tpcc is None else "prepared")),
        transactions=transactions,
        duration_s=duration_s,
        warm_up_s=warm_up_s(values.get("warm-up")),
        rate_tps=reading.amounts.get("rate"),
        latency_limit_ms=reading.amounts.get("latency-limit"),
        variables=reading.variables,
        scale=numbers.get("scale"),
        max_tries=numbers.get("max-tries", default_tries(tpcc)),
        reconnect="connect" in names,
        exit_on_abort="exit-on-abort" in names,
        vacuum="no-vacuum" not in names and twin is None,
        vacuum_all="vacuum-all" in names,
        report_per_command="report-per-command" in names or "report-latencies" in names,
        failures_detailed="failures-detailed" in names,
        verbose_errors="verbose-errors" in names,
        progress_s=numbers.get("progress", 0),
        progress_timestamp="progress-timestamp" in names,
        seed=reading.seed if reading.seed is not None else parse_seed("time", "--random-seed"),
        log=_log(reading),
        debug="debug" in names,
        percentiles=parse_percentiles(values["percentiles"]) if "percentiles" in values else DEFAULT_PERCENTILES,
        latency_percentiles="latency-percentiles" in names,
        fail_if=tuple(parse_threshold(text, "--fail-if") for text in reading.fail_if),
        find_rate=find_rate_target(values.get("find-rate")),
        until_stable="until-stable" in names,
        observe=bool({"observe", "report"} & names),
        spin="spin" in names,
        outputs=Outputs(
            plain="plain" in names,
            as_json="json" in names,
            seconds=tuple(reading.seconds),
            export=tuple(reading.export),
            hdr=Path(values["hdr"]) if "hdr" in values else None,
            runs=Path(values["runs"]) if "runs" in values else None,
            wants_report="report" in names,
            report=Path(values["report"]) if values.get("report") else None,
        ),
    )


def _end(reading: PartialCommandLine) -> tuple[int | None, int | None]:
    """Seconds or transactions, whichever ends the run."""
    duration_s = reading.numbers.get("time")
    if duration_s is None and "until-stable" in reading.names:
        duration_s = STABLE_LIMIT_S
    if duration_s is None and "find-rate" in reading.names:
        duration_s = FIND_RATE_TRIAL_S
    if duration_s is None and "tpcc" in reading.names and "transactions" not in reading.names:
        duration_s = DURATION_S
    return duration_s, (None if duration_s is not None else reading.numbers.get("transactions", 10))


def _log(reading: PartialCommandLine) -> LogSpec | None:
    if "log" not in reading.names:
        return None
    return LogSpec(
        prefix=reading.values.get("log-prefix", "pgbench_log"),
        sampling_rate=reading.amounts.get("sampling-rate"),
        aggregate_interval_s=reading.numbers.get("aggregate-interval"),
        failures_detailed="failures-detailed" in reading.names,
    )
