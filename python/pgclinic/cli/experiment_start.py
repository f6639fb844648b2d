"""From the options of an experiment to its plan: what its arms do, on which servers, in which order its blocks run."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from pgclinic.cli.options.run import RunOptions
from pgclinic.cli.options.workload import WorkloadOptions
from pgclinic.cli.this_command import command_words
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.interleaving import why_sequential
from pgclinic.experiment.on_twin import OnTwin, dataset_of, major_of, on_twin
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.lab.sources import attach
from pgclinic.load.pgbench_tables import existing_scale
from pgclinic.load.script_argument import parse_script
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.interleaving import SequentialKind
from pgclinic.model.load import Protocol
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.study import Study
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.interleaving import interleaved_text, sequential_reason, sequential_text
from pgclinic.settings.words import parse_settings
from pgclinic.store.machine import read_machine
from pgclinic.study.compare import Common
from pgclinic.study.compare_arms import read_text
from pgclinic.trial.server import binaries_of
from pgclinic.trial.window_plan import WINDOW_S
from pgclinic.twin.wanted import TwinWanted

_SEEDS = 10_000
#: Arms that cannot take turns at all, whatever the user wants.
_IMPOSSIBLE = (SequentialKind.UNEQUAL_TIMES, SequentialKind.STEADY_WARM_UP)


def chosen_seed(run: RunOptions) -> int:
    """Return the seed of the user, or a new one."""
    return run.seed if run.seed is not None else random.SystemRandom().randrange(1, _SEEDS)


def common_of(workload: WorkloadOptions, settings: Sequence[str], server: ServerAsked) -> Common:
    """Return what all arms do. Raises UnknownNameError, UsageError."""
    protocols = [protocol.value for protocol in Protocol]
    if workload.protocol not in protocols:
        raise UnknownNameError("protocol", workload.protocol, protocols, where="-M")
    twin = twin_wanted(workload, server)
    return Common(
        scripts=tuple(parse_script(text) for text in workload.scripts),
        default_script=parse_script("builtin:tpcb-like"),
        schema=read_text(workload.schema, "schema") if workload.schema is not None else None,
        existing=server.existing,
        scale=_scale(workload, server),
        twin=dataset_of(twin) if twin is not None else None,
        warehouses=workload.tpcc_warehouses,
        clients=workload.clients,
        threads=workload.threads,
        protocol=Protocol(workload.protocol),
        settings=parse_settings(settings),
    )


def _scale(workload: WorkloadOptions, server: ServerAsked) -> int:
    scale = workload.scale
    if workload.twin is not None:
        return 1
    if scale is not None and (scale < 1 or scale != int(scale)):
        raise UsageError(f"--scale {scale:g} must be a whole number, at least 1, for pgbench's tables")
    if scale is not None or not server.existing or server.dsn is None:
        return int(scale or 1)
    return existing_scale(attach(server.dsn))


def twin_wanted(workload: WorkloadOptions, server: ServerAsked) -> TwinWanted | None:
    """Return the twin on which the experiment runs, None without one. Raises UsageError beside an existing server."""
    if workload.twin is None:
        return None
    if server.dsn is not None:
        raise UsageError("--twin and --dsn are mutually exclusive: a twin is built in the lab")
    return TwinWanted(workload.twin, 1.0 if workload.scale is None else workload.scale)


def choose_servers(
    asked: Mapping[str, ServerAsked], twin: TwinWanted | None, on_stage: Callable[[str], None]
) -> dict[str, ChosenServer]:
    """Return the server of each arm; where an arm names no version, a twin has the one of its original.

    Raises UsageError, SourceError.
    """
    original = major_of(twin) if twin is not None else None
    return {arm: choose_server(server, default_version=original, on_stage=on_stage) for arm, server in asked.items()}


def check_on_twin(
    twin: TwinWanted | None,
    workload: WorkloadOptions,
    servers: Iterable[ChosenServer],
    on_stage: Callable[[str], None],
) -> OnTwin | None:
    """Return what a run on this twin is, None without one. Raises UsageError, RunFailedError."""
    if twin is None:
        return None
    binaries = [binaries_of(server.spec) for server in servers]
    return on_twin(twin, binaries, clients=workload.clients, own_scripts=bool(workload.scripts), on_stage=on_stage)


def plan_of_all_arms(
    study: Study, servers: Mapping[str, ChosenServer], run: RunOptions, fidelity: Fidelity | None
) -> ExperimentPlan:
    """Return the plan of the study's question. Raises UsageError where an arm does not fit into this machine."""
    plan = comparison_plan(
        study, servers, seed=chosen_seed(run), memory_bytes=read_machine().memory_bytes, fidelity=fidelity
    )
    if not plan.study.questions or not servers.keys() <= plan.arms.keys():
        words = doubt_words(plan.left_out[0])
        raise UsageError(words.text, hint=words.advice)
    return plan


def with_block_mode(
    plan: ExperimentPlan, memory_bytes: int | None, *, asked: bool | None
) -> tuple[ExperimentPlan, str]:
    """Return the plan with its mode, and the line that says it. If ``asked`` is None blocks are interleaved where safe.

    Raises UsageError where arms that were to be interleaved cannot take turns.
    """
    why = why_sequential(plan, memory_bytes)
    if asked and why is not None and why.kind in _IMPOSSIBLE:
        raise UsageError(f"these blocks cannot be interleaved: {sequential_reason(why)}", hint="use --sequential")
    interleaved = why is None if asked is None else asked
    chosen = plan.with_profile(replace(plan.profile, interleaved=interleaved))
    if not interleaved:
        return chosen, sequential_text(why if asked is None else None)
    risk = f", as asked; {sequential_reason(why)}" if why is not None else ""
    return chosen, interleaved_text(WINDOW_S) + risk


def info_of_new_run(
    kind: RunKind,
    plan: ExperimentPlan,
    servers: Sequence[ChosenServer],
    addresses: Mapping[str, str],
    *,
    settings: Mapping[str, str] | None = None,
    calibration_s: float = 0.0,
) -> RunInfo:
    """Return run.json of a run that begins now; the first of ``servers`` is that of the whole run."""
    return new_run_info(
        kind,
        plan,
        read_machine(),
        command=command_words(addresses),
        server=words_of_servers(servers),
        wanted=servers[0].spec,
        settings=settings,
        calibration_s=calibration_s,
    )


def words_of_servers(servers: Iterable[ChosenServer]) -> str:
    """Return the servers of all arms in words, each once."""
    return " and ".join(dict.fromkeys(server.words for server in servers))


def say_what_is_made(servers: Iterable[ChosenServer]) -> None:
    """Print what will be created on existing servers."""
    for line in dict.fromkeys(server.creates for server in servers if server.creates is not None):
        print(line, file=sys.stderr)
