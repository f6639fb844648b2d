"""The road of ``pgclinic compare``: words -> a study with one open question -> the road of all studies -> an answer."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from pgclinic import __version__
from pgclinic.cli.attached_servers import say_dropped, say_what_is_made
from pgclinic.cli.compare_end import Ending, finish_comparison
from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.study_run import Course, measure
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.lab.sources import attach
from pgclinic.load.engine import build_info
from pgclinic.model.load import Protocol
from pgclinic.model.run import Machine, RunInfo, Tool
from pgclinic.model.study import ArmFile, Profile, Study, WarmUpEnd
from pgclinic.pg.dsn import without_password
from pgclinic.pg.setting_words import parse_settings
from pgclinic.stats.warm_up import LONGEST_S
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.aa_run import DEFAULT_S
from pgclinic.study.compare import PROFILE, A, B, Common, Length, comparison_study, from_study, with_room
from pgclinic.study.compare_arms import ArmAsked, parse_arm, parse_script, read_arm_file, read_text
from pgclinic.study.expand import expand
from pgclinic.study.expected import block_s
from pgclinic.study.fitted import fitted
from pgclinic.study.pgbench_tables import existing_scale
from pgclinic.study.prepare import Patient, choose_patient, prepare
from pgclinic.study.read import check_study, read_study
from pgclinic.study.shell_commands import refuse_shell_commands
from pgclinic.study.write import study_toml

SEEDS = 10_000
BUDGET = "5m"
#: A warm-up that ends by state takes twice as long as such a trial itself.
BUDGET_STEADY = "8m"
#: From this length on, what a prelude tells is worth what it takes.
PRELUDE_FROM_S = 240.0


@dataclass(frozen=True)
class Servers:
    """The server of both arms; of an arm that names one itself, only the other's."""

    version: str | None = None
    bindir: Path | None = None
    dsn: str | None = None


@dataclass(frozen=True)
class Lasting:
    """How long it may take, in the user's words; ``prelude`` is None where he does not care."""

    warm_up: str
    measure: str
    blocks: int | None
    budget: str | None
    prelude: bool | None


@dataclass(frozen=True)
class Data:
    """A schema of the user's own, or else pgbench's tables at ``scale``, 1 by default; with ``warehouses`` TPC-C's.

    With ``existing`` they are those of a database that is there.
    """

    schema: str | None
    scale: int | None
    warehouses: int | None
    existing: bool = False
    allow_writes: bool = False


@dataclass(frozen=True)
class Sessions:
    """Who sends it all."""

    clients: int | None
    threads: int
    protocol: str


@dataclass(frozen=True)
class Request:
    """What the command line asked for, as it was written there."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    files: tuple[Path, ...]
    scripts: tuple[str, ...]
    data: Data
    sessions: Sessions
    settings: tuple[str, ...]
    servers: Servers
    lasting: Lasting
    seed: int | None
    ending: Ending
    runs: Path
    allow_shell: bool = False


@dataclass(frozen=True)
class Asked:
    """The study, and which server each arm wants; addresses with their secrets live here alone."""

    study: Study
    servers: Mapping[str, Servers]


def run_comparison(request: Request) -> int:
    """Answer the question and give the exit code; all that can be wrong is found before anything is done."""
    request.ending.check()
    asked = _asked(request)
    check_study(asked.study, "compare")
    refuse_shell_commands(asked.study, asked.study.profiles[PROFILE], allowed=request.allow_shell)
    say_cleaned()
    say_dropped(servers.dsn for servers in asked.servers.values())
    seed = request.seed if request.seed is not None else random.SystemRandom().randrange(1, SEEDS)
    with LiveLine(sys.stderr) as live:
        patients = {name: _patient(asked, name, request, live.stage) for name in (A, B)}
        live.close()
        study = with_room(_with_servers(asked.study, patients))
        profile, machine = study.profiles[PROFILE], read_machine()
        _refuse_too_large(study, patients, profile, machine)
        _say_what_comes(study, profile, patients, seed)
        prepare(study, profile, patients[A], {}, on_stage=live.stage, dsns=_secrets(asked))
        blocks = expand(study, profile, seed=seed, server=patients[A].wanted, extra_settings={})
        info = replace(
            _run_info(profile, patients, seed, machine, _secrets(asked)), prelude_s=_prelude_s(profile, request)
        )
        name = f"{time.strftime('%Y-%m-%d')}-compare-{seed}"
        folder = RunFolder.create(request.runs, name, info, study_toml(study))
        verdict = measure(Course(study, profile, blocks, folder, info, dsn=None, dsns=_secrets(asked)), live)
    return finish_comparison(folder, study, verdict, request.ending)


def _asked(request: Request) -> Asked:
    length = _length(request.lasting)
    if len(request.files) == 1:
        return _from_study_file(request, length)
    pairs = {A: request.a, B: request.b}
    if request.files:
        if len(request.files) > 2 or request.a or request.b:
            raise UsageError(
                "--from is given once, with a study file of two arms, or twice, with an arm each; it takes the place "
                "of --a and --b"
            )
        pairs = {name: read_arm_file(path) for name, path in zip((A, B), request.files, strict=True)}
    if not any(pairs.values()):
        raise UsageError(
            "there is nothing to compare", hint="write --a set:work_mem=4MB --b set:work_mem=64MB, or see --help"
        )
    arms = {name: parse_arm(words, f"--{name}") for name, words in pairs.items()}
    common = _common(request, _scale(request, arms[A].dsn or request.servers.dsn))
    study = comparison_study(arms[A], arms[B], common, length, time.strftime("%Y-%m-%d"))
    return Asked(study, {name: _servers(arm, request.servers) for name, arm in arms.items()})


def _servers(arm: ArmAsked, common: Servers) -> Servers:
    own = Servers(version=arm.version, bindir=arm.bindir, dsn=arm.dsn)
    return own if own != Servers() else common


def _from_study_file(request: Request, length: Length) -> Asked:
    given = [
        ("--a", request.a),
        ("--b", request.b),
        ("--script", request.scripts),
        ("--schema", request.data.schema),
        ("--tpcc", request.data.warehouses),
        ("-c", request.sessions.clients),
        ("--set", request.settings),
    ]
    for option, value in given:
        if value:
            raise UsageError(f"{option} and --from with a study file exclude each other: the file says it all")
    file = str(request.files[0])
    if not file.endswith(".toml"):
        raise UsageError(f"--from {file}: a study file ends in .toml")
    study = from_study(read_study(file)[0], length)
    return Asked(study, {name: _servers_of_file(study, name, request.servers) for name in study.arms})


def _servers_of_file(study: Study, name: str, common: Servers) -> Servers:
    arm: ArmFile | None = study.arms[name]
    while arm is not None:
        own = Servers(version=arm.version, bindir=Path(arm.bindir) if arm.bindir else None, dsn=arm.dsn)
        if own != Servers():
            return own
        arm = study.arms[arm.builds_on] if arm.builds_on else None
    return common


def _scale(request: Request, dsn: str | None) -> int:
    if request.data.scale is not None or not request.data.existing or dsn is None:
        return request.data.scale or 1
    return existing_scale(attach(dsn))


def _common(request: Request, scale: int) -> Common:
    protocols = [protocol.value for protocol in Protocol]
    if request.sessions.protocol not in protocols:
        raise UnknownNameError("protocol", request.sessions.protocol, protocols, where="-M")
    return Common(
        scripts=tuple(parse_script(text) for text in request.scripts),
        default_script=parse_script("builtin:tpcb-like"),
        schema=read_text(request.data.schema, "schema") if request.data.schema is not None else None,
        existing=request.data.existing,
        scale=scale,
        warehouses=request.data.warehouses,
        clients=request.sessions.clients,
        threads=request.sessions.threads,
        protocol=Protocol(request.sessions.protocol),
        settings=parse_settings(request.settings),
    )


def _length(lasting: Lasting) -> Length:
    if lasting.blocks is not None and lasting.budget is not None:
        raise UsageError("--blocks and --budget exclude each other: one settles the number, the other leaves it open")
    steady = lasting.warm_up.strip() == WarmUpEnd.STEADY.value
    budget = lasting.budget or (BUDGET_STEADY if steady else BUDGET)
    return Length(
        warm_up_s=float(LONGEST_S) if steady else _warm_up_s(lasting.warm_up),
        warm_up_ends=WarmUpEnd.STEADY if steady else WarmUpEnd.TIME,
        measure_s=parse_duration_s(lasting.measure, "--measure"),
        blocks=lasting.blocks,
        budget_s=parse_duration_s(budget, "--budget") if lasting.blocks is None else None,
    )


def _warm_up_s(text: str) -> float:
    return 0.0 if text.strip() in ("0", "0s") else parse_duration_s(text, "--warm-up")


def _patient(asked: Asked, name: str, request: Request, on_stage: Callable[[str], None]) -> Patient:
    servers = asked.servers[name]
    return choose_patient(
        asked.study,
        version=servers.version,
        bindir=servers.bindir,
        dsn=servers.dsn,
        existing=request.data.existing,
        allow_writes=request.data.allow_writes,
        on_stage=on_stage,
    )


def _with_servers(study: Study, patients: Mapping[str, Patient]) -> Study:
    """Every arm with the one literal server that it gets, so that the stored study says it."""
    arms = {}
    for name, arm in study.arms.items():
        wanted = patients[name].wanted
        arms[name] = replace(arm, version=wanted.version, bindir=wanted.bindir, dsn=wanted.dsn)
    return replace(study, arms=arms)


def _refuse_too_large(study: Study, patients: Mapping[str, Patient], profile: Profile, machine: Machine) -> None:
    suited = fitted(study, patients[A].major, profile, machine.memory_bytes)
    if not suited.study.claims:
        raise UsageError(suited.doubts[0].text, hint=suited.doubts[0].advice)


def _prelude_s(profile: Profile, request: Request) -> float:
    """A minute of a against itself, unless the whole comparison takes hardly longer."""
    blocks_s = profile.blocks_max * block_s(profile)
    asked = request.lasting.prelude
    wanted = asked if asked is not None else min(blocks_s, profile.budget_s) >= PRELUDE_FROM_S
    return DEFAULT_S if wanted else 0.0


def _secrets(asked: Asked) -> dict[str, str]:
    """The whole address of every attached server by what is stored of it."""
    return {without_password(one.dsn): one.dsn for one in asked.servers.values() if one.dsn is not None}


def _say_what_comes(study: Study, profile: Profile, patients: Mapping[str, Patient], seed: int) -> None:
    words = [f"{name}: {patients[name].words}, {study.arms[name].about}" for name in (A, B)]
    if profile.blocks_min == profile.blocks_max:
        long = f"{profile.blocks_max} blocks, about {in_words(profile.blocks_max * block_s(profile))}"
    else:
        long = f"up to {in_words(profile.budget_s)}, less if the answer is clear before"
    print("\n".join([*words, f"blocks of {block_s(profile):.0f} s · {long} · seed {seed}"]), file=sys.stderr)
    say_what_is_made(patients.values())


def patients_words(patients: Mapping[str, Patient]) -> str:
    """The server of both arms in a few words, or the two."""
    return " and ".join(dict.fromkeys(patient.words for patient in patients.values()))


def _run_info(
    profile: Profile, patients: Mapping[str, Patient], seed: int, machine: Machine, secrets: Mapping[str, str]
) -> RunInfo:
    engine = build_info()
    words = sys.argv[1:]
    for safe, whole in secrets.items():
        words = [word.replace(whole, safe) for word in words]
    return RunInfo(
        command=("pgclinic", *words),
        kind="compare",
        name="compare",
        seed=seed,
        profile=PROFILE,
        budget_s=profile.budget_s,
        server=patients_words(patients),
        started_epoch_us=time.time_ns() // 1000,
        machine=machine,
        wanted=patients[A].wanted,
        tool=Tool(
            pgclinic=__version__,
            engine=engine.version,
            engine_profile=engine.profile,
            python=".".join(str(part) for part in sys.version_info[:3]),
        ),
    )
