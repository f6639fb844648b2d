"""Which options go together; the refusals are pgbench's, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from pgclinic.bench.options import ONLY_BENCHMARK, ONLY_INITIALIZE
from pgclinic.errors import UsageError


def check_initialize(names: AbstractSet[str], numbers: Mapping[str, int]) -> None:
    """Raises UsageError when ``-i`` cannot go with what else was given."""
    wrong = sorted(names & ONLY_BENCHMARK)
    if wrong:
        raise UsageError(
            "some of the specified options cannot be used in initialization (-i) mode",
            hint=", ".join(f"--{name}" for name in wrong),
        )
    if "partition-method" in names and not numbers.get("partitions"):
        raise UsageError("--partition-method requires greater than zero --partitions")


def check_benchmark(
    names: AbstractSet[str], numbers: Mapping[str, int], *, weights: Sequence[int], address_given: bool
) -> None:
    """Raises UsageError when the options of a run are mutually exclusive."""
    if sum(weights) == 0:
        raise UsageError("total script weight must not be zero")
    wrong = sorted(names & ONLY_INITIALIZE)
    if wrong:
        raise UsageError(
            "some of the specified options cannot be used in benchmarking mode",
            hint=", ".join(f"--{name}" for name in wrong),
        )
    if {"transactions", "time"} <= names:
        raise UsageError("specify either a number of transactions (-t) or a duration (-T), not both")
    _check_log(names, numbers)
    if "progress-timestamp" in names and "progress" not in names:
        raise UsageError("--progress-timestamp is allowed only under --progress")
    # TPC-C runs for a time unless transactions are counted.
    timed = "time" in names or ("tpcc" in names and "transactions" not in names)
    if numbers.get("max-tries") == 0 and not timed and "latency-limit" not in names:
        raise UsageError(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)"
        )
    _check_own(names, address_given=address_given)


def _check_log(names: AbstractSet[str], numbers: Mapping[str, int]) -> None:
    logs = "log" in names
    if "sampling-rate" in names and not logs:
        raise UsageError("log sampling (--sampling-rate) is allowed only when logging transactions (-l)")
    if {"sampling-rate", "aggregate-interval"} <= names:
        raise UsageError(
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time"
        )
    interval_s, duration_s = numbers.get("aggregate-interval"), numbers.get("time")
    if interval_s is not None and not logs:
        raise UsageError("log aggregation is allowed only when actually logging transactions")
    if "log-prefix" in names and not logs:
        raise UsageError("log file prefix (--log-prefix) is allowed only when logging transactions (-l)")
    if interval_s is None or duration_s is None:
        return
    if interval_s > duration_s:
        raise UsageError(
            f"number of seconds for aggregation ({interval_s}) must not be higher than test duration ({duration_s})"
        )
    if duration_s % interval_s:
        raise UsageError(f"duration ({duration_s}) must be a multiple of aggregation interval ({interval_s})")


def _check_own(names: AbstractSet[str], *, address_given: bool) -> None:
    """Our own options among each other."""
    if "lab" in names and address_given:
        raise UsageError("--lab starts a server of its own: omit host, port, user and database")
    if "twin" in names and address_given:
        raise UsageError("--twin is built in the lab: omit host, port, user and database")
    if "twin-scale" in names and "twin" not in names:
        raise UsageError("--twin-scale needs --twin")
    of_tables = sorted({"tpcc", "builtin", "select-only", "skip-some-updates", "scale"} & names)
    if "twin" in names and of_tables:
        raise UsageError(f"--twin and --{of_tables[0]} are mutually exclusive: the data are those of the twin")
    if "set" in names and not {"lab", "twin"} & names:
        raise UsageError("--set needs --lab", hint="the settings of an existing server are not changed")
    if {"find-rate", "log"} <= names:
        raise UsageError("--find-rate runs many loads: it cannot write one log (-l)")
    for name in ("find-rate", "until-stable"):
        if name in names and "transactions" in names:
            raise UsageError(f"--{name} is limited by time: give -T, not -t")
    if {"find-rate", "until-stable"} <= names:
        raise UsageError("--find-rate and --until-stable are mutually exclusive")
    if {"find-rate", "rate"} <= names:
        raise UsageError("--find-rate searches the rate that -R would set: omit -R")
