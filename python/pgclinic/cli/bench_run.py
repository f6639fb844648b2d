"""The two roads of ``pgclinic bench``: fill the standard tables, or run a load."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType

import msgspec

from pgclinic.bench.hdr_log import write_hdr_log
from pgclinic.bench.initialize import InitListener, done_line, initialize
from pgclinic.bench.lab_server import lab_patient
from pgclinic.bench.load_spec import load_spec
from pgclinic.bench.prepare import read_tables, vacuum
from pgclinic.bench.request import Address, BenchRequest, InitRequest, TpccInitRequest
from pgclinic.bench.result import ABORTED, NOT_RUN, make_result
from pgclinic.bench.run import Ran, RunListener, run_bench
from pgclinic.bench.seconds_file import refuse_unwritable, write_seconds
from pgclinic.bench.secrets import without_secrets
from pgclinic.bench.silence import SilenceWatch
from pgclinic.bench.target import Patient, open_patient
from pgclinic.bench.tpcc_data import FillListener, settle, violations
from pgclinic.bench.tpcc_initialize import initialize_tpcc
from pgclinic.cli.attached_servers import say_dropped_on
from pgclinic.cli.bench_live import BenchLive
from pgclinic.cli.lab_output import say_cleaned
from pgclinic.errors import PgclinicError
from pgclinic.lab.measuring import measurement
from pgclinic.load.engine import Stopper, check_script, refuse_debug_engine
from pgclinic.model.bench import BenchResult, TpccViolation
from pgclinic.model.load import LoadSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.progress import BESIDE
from pgclinic.report.bench_figures import own_lines
from pgclinic.report.bench_summary import pgbench_lines
from pgclinic.report.bench_tpcc import tpcc_lines
from pgclinic.store.bench_folder import write_bench_folder
from pgclinic.trial.shell_account import with_shell_account


def run_initialize(request: InitRequest) -> None:
    """``-i``: drop, create, fill, vacuum, keys, as the steps say."""
    with open_patient(request.address, for_load=False, ask_password=_ask_password) as patient:
        if request.debug:
            _say(f"{patient.words} {patient.access.server.database}: {_without_address(request)}")
        patient.session.on_notice(_say)
        with BenchLive(sys.stderr) as live:
            times = initialize(patient.session, request, InitListener(say=_say, progress=live.filled))
    _say(done_line(times))


def run_tpcc_initialize(request: TpccInitRequest) -> None:
    """``--tpcc -i``: fill the nine tables and check them."""
    with (
        BenchLive(sys.stderr) as live,
        open_patient(request.address, for_load=False, ask_password=_ask_password) as patient,
    ):
        if request.debug:
            live.say(f"{patient.words} {patient.access.server.database}: {_without_address(request)}")
        times = initialize_tpcc(patient.access, request, FillListener(stage=live.stage, filled=live.filling))
    _say(done_line(times))


def run_benchmark(request: BenchRequest, words: Sequence[str]) -> int:
    """Run, print, write; the exit code. All that can be refused is refused before the server is touched."""
    refuse_debug_engine()
    refuse_unwritable("--seconds", request.outputs.seconds)
    refuse_unwritable("--hdr", [request.outputs.hdr] if request.outputs.hdr is not None else [])
    for chosen in request.scripts:
        check_script(chosen.script.name, chosen.script.text, request.protocol)
    with BenchLive(sys.stderr, request) as live, _patient(request, live) as patient:
        if request.lab is None:
            say_dropped_on(patient.access, live.say)
        request = settle(request, patient.access)
        tables = read_tables(patient.session, request, patient.access.server.database, live.say)
        spec = with_shell_account(load_spec(request, tables, patient))
        if request.debug:
            live.say(f"{patient.words}: {_without_password(spec)}")
        vacuum(patient.session, request, live.say)
        ran = _run(request, spec, patient, live)
        broken = _check_data(request, ran, patient, live)
        command = ["pgclinic", "bench", *without_secrets(words)]
        result = make_result(request, ran, patient, tables, command, broken)
    _write(request, result)
    _print(request, result)
    return result.exit_code


def _patient(request: BenchRequest, live: BenchLive) -> AbstractContextManager[Patient]:
    if request.lab is None:
        return open_patient(request.address, for_load=True, ask_password=_ask_password)
    say_cleaned()
    return lab_patient(request, request.lab, FillListener(stage=live.stage, filled=live.filling))


def _run(request: BenchRequest, spec: LoadSpec, patient: Patient, live: BenchLive) -> Ran:
    stopper = Stopper()
    silence = SilenceWatch(patient.session.server_answers, stopper)

    def follow(progress: LoadProgress) -> None:
        live.progress(progress)
        silence.progress(progress)

    listener = RunListener(
        on_progress=follow, on_search=live.search, on_trial=live.trial, on_rate=live.rate, on_event=live.event
    )
    with _interrupt_stops(stopper), _known_to_others(live):
        ran = run_bench(request, spec, listener, stopper)
    silence.refuse()
    return ran


@contextmanager
def _known_to_others(live: BenchLive) -> Iterator[None]:
    """Other commands hear of this one, and it says when they measure as well; without a lab home none can."""
    with ExitStack() as stack:
        with suppress(PgclinicError, OSError):
            stack.enter_context(measurement(lambda: live.say(f"  {BESIDE}")))
        yield


def _check_data(request: BenchRequest, ran: Ran, patient: Patient, live: BenchLive) -> tuple[TpccViolation, ...] | None:
    """What the run left inconsistent, None where nobody asks. After Ctrl-C nobody waits for it."""
    if request.tpcc is None or not request.tpcc.check or ran.load.stopped == "interrupted":
        return None
    live.stage("checking consistency")
    return violations(patient.access, request.tpcc)


@contextmanager
def _interrupt_stops(stopper: Stopper) -> Iterator[None]:
    """The first Ctrl-C ends measuring and shows what was measured; the second ends the command."""
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: FrameType | None) -> None:
        stopper.stop()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _write(request: BenchRequest, result: BenchResult) -> None:
    for path in request.outputs.seconds:
        write_seconds(path, result.load.seconds)
    if request.outputs.hdr is not None:
        write_hdr_log(request.outputs.hdr, result.load)
    if request.outputs.runs is not None:
        _say(f"run {write_bench_folder(request.outputs.runs, result)}")


def _print(request: BenchRequest, result: BenchResult) -> None:
    if request.outputs.as_json:
        print(msgspec.json.encode(result).decode())
    # pgbench has nothing to show of a run that did not begin.
    elif result.exit_code != NOT_RUN:
        print("\n".join(tpcc_lines(result) if result.tpcc else [*pgbench_lines(result), *own_lines(result)]))
    log = result.load.log
    if log is not None and log.lines_lost:
        _say(f"pgclinic: error: {log.lines_lost} lines of the log are lost: {log.problem}")
    if result.exit_code == ABORTED:
        _say("pgclinic: error: Run was aborted; the above results are incomplete.")


def _without_password(spec: LoadSpec) -> str:
    target = msgspec.structs.replace(spec.target, password=None)
    return msgspec.json.encode(msgspec.structs.replace(spec, target=target)).decode()


def _without_address(request: InitRequest | TpccInitRequest) -> str:
    """What is asked for; a connection string may hold a password."""
    return str(replace(request, address=Address()))


def _ask_password() -> str | None:
    """Ask on the terminal, as pgbench does, also when a script comes from standard input; None where there is none."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return getpass.getpass("Password: ")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
