"""The road of ``pgclinic study run``: read, prepare, expand, run, judge, report."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic import __version__
from pgclinic.cli.duration import in_words, parse_duration_s
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.cli.live import LiveLine
from pgclinic.cli.verdict import finish
from pgclinic.errors import UsageError
from pgclinic.fleet.here import Here
from pgclinic.load.engine import build_info
from pgclinic.model.run import RunInfo, Tool
from pgclinic.model.study import Profile, Study
from pgclinic.model.verdict import Verdict
from pgclinic.pg.setting_words import parse_settings
from pgclinic.report.verdict_table import verdict_table
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.expand import expand, profile_of
from pgclinic.study.expected import block_s, expected_s
from pgclinic.study.fitted import fitted, in_profile
from pgclinic.study.prepare import Patient, choose_patient, prepare
from pgclinic.study.read import read_study, shipped_studies
from pgclinic.study.run import StudyListener, run_blocks

SEEDS = 10_000


@dataclass(frozen=True)
class Request:
    """What the command line asked for, as it was written there."""

    profile: str
    budget: str | None
    seed: int | None
    version: str | None
    bindir: Path | None
    dsn: str | None
    settings: tuple[str, ...]
    runs: Path
    as_json: bool


def run_studies(names: list[str], request: Request) -> list[Verdict]:
    """Run the named studies one after the other; everything that can be wrong with any is found before the first."""
    settings = parse_settings(request.settings)
    studies = [read_study(name) for name in (shipped_studies() if names == ["all"] else names)]
    profiles = [_profile(study, request) for study, _ in studies]
    say_cleaned()
    verdicts = []
    for (study, text), profile in zip(studies, profiles, strict=True):
        verdicts.append(_run_study(study, text, profile, settings, request))
        if len(studies) > 1:
            print(file=sys.stderr if request.as_json else sys.stdout)
    if len(studies) > 1 and not request.as_json:
        print(verdict_table([study for study, _ in studies], verdicts))
    return verdicts


def _profile(study: Study, request: Request) -> Profile:
    profile = profile_of(study, request.profile)
    if request.budget is None:
        return profile
    budget_s = parse_duration_s(request.budget, "--budget")
    if budget_s < expected_s(profile):
        raise UsageError(
            f"--budget {request.budget} holds {int(budget_s / block_s(profile))} blocks of {block_s(profile):.0f} s; "
            f"{study.name} needs at least {profile.blocks_min} for a verdict",
            hint=f"give it {in_words(expected_s(profile))} or more",
        )
    return msgspec.structs.replace(profile, budget_s=budget_s)


def _run_study(study: Study, text: str, profile: Profile, extra_settings: dict[str, str], request: Request) -> Verdict:
    seed = request.seed if request.seed is not None else random.SystemRandom().randrange(1, SEEDS)
    with LiveLine(sys.stderr) as live:
        patient = choose_patient(
            study, version=request.version, bindir=request.bindir, dsn=request.dsn, on_stage=live.stage
        )
        live.close()
        machine = read_machine()
        study = fitted(in_profile(study, profile), patient.major, profile, machine.memory_bytes).study
        if not study.claims:
            raise UsageError(f"PostgreSQL {patient.major} on this machine can run no claim of {study.name}")
        _say_what_comes(study, profile, patient, seed)
        prepare(study, profile, patient, extra_settings, on_stage=live.stage)
        blocks = expand(study, profile, seed=seed, server=patient.wanted, extra_settings=extra_settings)
        folder = RunFolder.create(
            request.runs,
            f"{time.strftime('%Y-%m-%d')}-{study.name}-{seed}",
            _run_info(study, profile, patient, seed, request),
            text,
        )
        try:
            verdict = run_blocks(
                study,
                profile,
                blocks,
                Here(dsn=request.dsn),
                folder,
                StudyListener(on_progress=live.progress, on_trial=live.trial),
                machine.memory_bytes,
            )
        except BaseException:
            live.close()
            _say_what_is_kept(folder)
            raise
    finish(folder, study, verdict, as_json=request.as_json)
    return verdict


def _say_what_comes(study: Study, profile: Profile, patient: Patient, seed: int) -> None:
    arms = ", ".join(study.arms)
    seconds = " + ".join(f"{profile.measure_s[arm]:g}" for arm in study.arms)
    print(f"{study.name}   {study.title}", file=sys.stderr)
    print(
        f"{patient.words} · arms {arms} · blocks of {seconds} s · seed {seed} · about {in_words(expected_s(profile))}",
        file=sys.stderr,
    )


def _say_what_is_kept(folder: RunFolder) -> None:
    kept = len(list((folder.path / "trials").glob("*/record.json")))
    print(f"{kept} finished trials are kept in {folder.path}", file=sys.stderr)
    if kept:
        print(f"  judge what there is: pgclinic study judge {folder.path}", file=sys.stderr)


def _run_info(study: Study, profile: Profile, patient: Patient, seed: int, request: Request) -> RunInfo:
    engine = build_info()
    return RunInfo(
        command=_command_without_secrets(request),
        kind="study",
        name=study.name,
        seed=seed,
        profile=request.profile,
        budget_s=profile.budget_s,
        server=patient.words,
        started_epoch_us=time.time_ns() // 1000,
        machine=read_machine(),
        tool=Tool(
            pgclinic=__version__,
            engine=engine.version,
            engine_profile=engine.profile,
            python=".".join(str(part) for part in sys.version_info[:3]),
        ),
    )


def _command_without_secrets(request: Request) -> tuple[str, ...]:
    from pgclinic.pg.dsn import without_password

    if request.dsn is None:
        return ("pgclinic", *sys.argv[1:])
    safe = without_password(request.dsn)
    return ("pgclinic", *(word.replace(request.dsn, safe) for word in sys.argv[1:]))
