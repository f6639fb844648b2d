"""What ``--tpcc`` asks for, and what cannot stand beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from pgclinic.bench.options import COMMON, ONLY_INITIALIZE, TPCC, WHAT_RUNS
from pgclinic.bench.request import Address, TpccInitRequest, TpccWanted
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.dataset import TPCC_SEED
from pgclinic.model.load import Convention, Isolation

TERMINALS_PER_WAREHOUSE = 10
DURATION_S = 60
_TRIES = {Convention.BENCHBASE: 3, Convention.SPEC: 10}

#: TPC-C brings its own tables, statements and way to send them.
_REFUSED_IN_RUN = frozenset(option.name for option in WHAT_RUNS) | ONLY_INITIALIZE | {
    "scale", "protocol", "define", "connect", "vacuum-all", "replace",
}  # fmt: skip
_ALLOWED_IN_FILL = frozenset(option.name for option in COMMON) | {
    "initialize", "tpcc", "warehouses", "replace", "seed", "random-seed", "jobs", "quiet", "plain",
    "check-consistency", "no-check-consistency",
}  # fmt: skip
_ONLY_TPCC = frozenset(option.name for option in TPCC) - {"tpcc", "seed"}


def refuse_without_tpcc(names: AbstractSet[str]) -> None:
    """Raises UsageError for an option that means nothing unless TPC-C runs."""
    wrong = sorted(names & _ONLY_TPCC)
    if wrong and "tpcc" not in names:
        raise UsageError(f"--{wrong[0]} needs --tpcc")


def tpcc_wanted(names: AbstractSet[str], values: Mapping[str, str], numbers: Mapping[str, int]) -> TpccWanted | None:
    """The TPC-C that is to run, None without ``--tpcc``. Raises UsageError, UnknownNameError."""
    refuse_without_tpcc(names)
    if "tpcc" not in names:
        return None
    wrong = sorted(names & _REFUSED_IN_RUN)
    if wrong:
        raise UsageError(f"--{wrong[0]} and --tpcc are mutually exclusive{_reason(wrong[0])}")
    if {"client", "terminals"} <= names:
        raise UsageError("-c/--client and --terminals are the same option: give one of them")
    _refuse_both_checks(names)
    convention = _convention(values.get("convention", Convention.BENCHBASE.value))
    if "waits" in names and convention is not Convention.SPEC:
        raise UsageError("--waits needs --convention spec: BenchBase's terminals never wait")
    for name in ("rate", "find-rate"):
        if {"waits", name} <= names:
            raise UsageError(
                f"--waits and --{name} are mutually exclusive: each of them sets when a transaction starts"
            )
    return TpccWanted(
        warehouses=numbers.get("warehouses"),
        terminals=numbers.get("terminals", numbers.get("client")),
        convention=convention,
        isolation=_isolation(values.get("isolation", "serializable")),
        waits="waits" in names,
        check=_checks(names, by_itself="lab" in names),
    )


def default_tries(tpcc: TpccWanted | None) -> int:
    """Tries in all for what failed to serialize: pgbench's one, BenchBase's three, and enough for the specification."""
    return 1 if tpcc is None else _TRIES[tpcc.convention]


def tpcc_fill_request(
    names: AbstractSet[str], numbers: Mapping[str, int], *, address: Address, seed: int | None
) -> TpccInitRequest:
    """``-i`` with ``--tpcc``. Raises UsageError."""
    wrong = sorted(names - _ALLOWED_IN_FILL)
    if wrong:
        raise UsageError(f"--{wrong[0]} cannot be used with --tpcc -i, which only fills tables")
    _refuse_both_checks(names)
    return TpccInitRequest(
        address=address,
        warehouses=numbers.get("warehouses", 1),
        seed=TPCC_SEED if seed is None else seed,
        connections=numbers.get("jobs"),
        quiet="quiet" in names,
        plain="plain" in names,
        replace="replace" in names,
        check=_checks(names, by_itself=True),
        debug="debug" in names,
    )


def _reason(name: str) -> str:
    if name == "scale":
        return ": its size is --warehouses"
    if name == "protocol":
        return ", which always sends prepared statements"
    if name == "replace":
        return " without -i: a run drops nothing"
    return ""


def _refuse_both_checks(names: AbstractSet[str]) -> None:
    if {"check-consistency", "no-check-consistency"} <= names:
        raise UsageError("--check-consistency and --no-check-consistency are mutually exclusive")


def _checks(names: AbstractSet[str], *, by_itself: bool) -> bool:
    return "check-consistency" in names or (by_itself and "no-check-consistency" not in names)


def _convention(text: str) -> Convention:
    known = [convention.value for convention in Convention]
    if text.lower() not in known:
        raise UnknownNameError("convention", text, known, where="--convention")
    return Convention(text.lower())


def _isolation(text: str) -> Isolation:
    """``read-committed``, also written with an underscore or a blank."""
    levels = {isolation.value.replace("_", "-"): isolation for isolation in Isolation}
    word = text.lower().replace("_", "-").replace(" ", "-")
    if word not in levels:
        raise UnknownNameError("isolation level", text, levels, where="--isolation")
    return levels[word]
