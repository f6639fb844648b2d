"""The road of ``pgclinic advise``: a server or a twin -> its workload -> indexes -> text, JSON or a script."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pgclinic.capture.twin import capture_twin
from pgclinic.cli.advise import AdviseLimitOptions, AdviseRequest
from pgclinic.cli.checkup_read import place_words
from pgclinic.cli.duration import parse_duration_s
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.cli.output import print_json, say, text_columns
from pgclinic.cli.this_command import addresses_of, command_began_s, command_words
from pgclinic.errors import UsageError
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.servers import ServerAsked, choose_server
from pgclinic.fleet.here import Here
from pgclinic.load.tool import this_tool
from pgclinic.model.advise import AdviceLimits, IndexAdvice
from pgclinic.model.output import AdviceOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.twin import Twin
from pgclinic.pg.reach import reach_dsn
from pgclinic.report.reported import ReportedAdvice
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.report.sections.twin.text import twin_summary_text
from pgclinic.store.advise_folder import PROOFS, write_advice, write_advice_folder
from pgclinic.store.directory_lock import ASKED_S, directory_lock
from pgclinic.store.document import refuse_existing, write_new
from pgclinic.store.machine import read_machine
from pgclinic.store.private_folder import write_private_report
from pgclinic.trial.server import binaries_of
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.wanted import TwinWanted

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(kB|MB|GB|TB)", re.IGNORECASE)
_BYTES = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
#: The workload runs on the twin in this part of the budget, at most for so long, before anything is measured.
_CHECK_SHARE, _CHECK_S_MAX = 0.03, 10.0


@dataclass(frozen=True)
class _Checked:
    """A request whose words have been read; ``file`` is the twin, None where it is captured of a server."""

    request: AdviseRequest
    limits: AdviceLimits
    budget_s: float
    observe_s: float
    file: Path | None


def run_advise(request: AdviseRequest) -> int:
    """Advise indexes and return the exit code; all that can be wrong is found before anything is done."""
    checked, began_s = _checked(request), command_began_s()
    twin, place = _captured(checked) if checked.file is None else (read_twin(checked.file), str(checked.file))
    say_cleaned()
    info = _run_info(checked, twin, place)
    folder = write_advice_folder(request.runs, info)
    with directory_lock(folder, wait=False, patience_s=ASKED_S):
        path = checked.file or _written(folder, twin)
        advice = _advised(checked, TwinWanted(path, scale=request.scale), folder, began_s)
        from pgclinic.report.kinds import advice_page

        one = ReportedAdvice(info, advice, str(folder))
        report = write_private_report(folder, advice_page(one))
    script = _write_script(request, advice)
    if request.as_json:
        print_json(AdviceOutput(run=str(folder), advice=advice))
    else:
        from pgclinic.report.sections.advice.text import advice_text
        from pgclinic.report.sections.next.twins import advice_next

        todo = advice_next(one)
        print(advice_text(advice, str(report), str(folder), script=script, todo=todo, width=text_columns()))
    return 0


def _advised(checked: _Checked, wanted: TwinWanted, folder: Path, began_s: float) -> IndexAdvice:
    """Measure with the live view on stderr; the folder has the advice from the end of its measurements on."""
    from pgclinic.advise.advisor import AdviceAsked, AdviceListener, AdviceSubject, advise
    from pgclinic.experiment.on_twin import on_twin

    twin, kept = read_twin(wanted.path), list[IndexAdvice]()

    def on_advice(advice: IndexAdvice) -> None:
        kept.append(advice)
        write_advice(folder, advice)

    with LiveView(sys.stderr, plain=checked.request.plain) as live:
        try:
            server = choose_server(ServerAsked(version=str(twin.version_num // 10_000)), on_stage=live.stage)
            on = on_twin(
                wanted,
                (binaries_of(server.spec),),
                clients=None,
                own_scripts=False,
                on_stage=live.stage,
                check_s=min(_CHECK_S_MAX, max(2.0, _CHECK_SHARE * checked.budget_s)),
            )
            live.clear()
            if on.fidelity is not None:
                print(twin_summary_text(on.fidelity), file=sys.stderr)
            asked = AdviceAsked(
                limits=checked.limits,
                budget_s=checked.budget_s,
                began_s=began_s,
                runs=folder / PROOFS,
                command=command_words(addresses_of(_addresses(checked))),
                fleet=Here(until_s=began_s + checked.budget_s),
                prove=checked.request.prove,
            )
            experiment = Listener(on_progress=live.progress, on_trial=live.trial, on_verdict=live.verdict)
            subject = AdviceSubject(twin, keep_twin(wanted.path, scale=wanted.scale), on, server)
            return advise(subject, asked, AdviceListener(live.stage, on_advice, experiment))
        except BaseException:
            live.clear()
            say(f"what was measured is kept in {folder}" if kept else f"nothing was measured yet; the run is {folder}")
            raise


def _captured(checked: _Checked) -> tuple[Twin, str]:
    access = reach_dsn(checked.request.source)
    if checked.observe_s:
        say(f"pgclinic: counting statements for {checked.observe_s:g} s")
    return mask_twin(capture_twin(access, observe_s=checked.observe_s)), place_words(access.server)


def _written(folder: Path, twin: Twin) -> Path:
    proofs = folder / PROOFS
    proofs.mkdir(exist_ok=True)
    path = proofs / f"{twin.database.replace('/', '_')}.twin"
    write_twin(path, twin, masked_text=masked_text(twin), force=True)
    return path


def _addresses(checked: _Checked) -> list[str | None]:
    return [checked.request.source if checked.file is None else None]


def _run_info(checked: _Checked, twin: Twin, place: str) -> RunInfo:
    return RunInfo(
        command=command_words(addresses_of(_addresses(checked))),
        kind=RunKind.ADVISE,
        name=twin.database,
        seed=1,
        profile="advise",
        budget_s=checked.budget_s,
        server=f"{place}, PostgreSQL {twin.version}",
        started_epoch_us=time.time_ns() // 1000,
        machine=read_machine(),
        tool=this_tool(),
    )


def _write_script(request: AdviseRequest, advice: IndexAdvice) -> str | None:
    from pgclinic.report.exports.advice_script import advice_script

    if request.output is None:
        return None
    write_new(request.output, advice_script(advice).encode(), force=request.force)
    return str(request.output)


# What is asked for


def _checked(request: AdviseRequest) -> _Checked:
    file = Path(request.source) if _is_file(request.source) else None
    if file is not None and request.observe is not None:
        raise UsageError("--observe needs a server: a twin has counted its statements already")
    if not 0 < request.scale <= 1:
        raise UsageError("--scale must be above 0 and at most 1")
    if request.output is not None:
        if request.output.suffix != ".sql":
            raise UsageError(f"-o {request.output}: the script has the suffix .sql", hint="-o indexes.sql")
        refuse_existing(request.output, force=request.force)
    if file is not None:
        read_twin(file)
    return _Checked(
        request=request,
        limits=_limits(request.limits),
        budget_s=parse_duration_s(request.budget, "--budget"),
        observe_s=0.0 if request.observe is None else parse_duration_s(request.observe, "--observe"),
        file=file,
    )


def _is_file(source: str) -> bool:
    return source.endswith(".twin") or ("=" not in source and "://" not in source)


def _limits(options: AdviseLimitOptions) -> AdviceLimits:
    return AdviceLimits(
        max_indexes=options.max_indexes,
        max_size_bytes=_size_bytes(options.max_size) if options.max_size is not None else None,
        max_write_overhead=_share(options.max_write_overhead),
    )


def _size_bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-size {text} is not a valid size", hint="--max-size 2GB")
    return round(float(match[1]) * _BYTES[match[2].lower()])


def _share(text: str) -> float:
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise UsageError(f"--max-write-overhead {text} is not a valid percentage", hint="--max-write-overhead 5%")
    return share
