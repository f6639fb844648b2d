"""The two roads of ``pgclinic bench``: fill the standard tables, or run a load."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace

import msgspec

from pgclinic.bench.load_spec import load_spec
from pgclinic.bench.observed import Observer
from pgclinic.bench.prepare import read_tables, vacuum
from pgclinic.bench.request import Address, BenchRequest, InitRequest, TpccInitRequest
from pgclinic.bench.result import info_of_new_bench, make_result, trial_of
from pgclinic.bench.run import Loads, Ran, RunListener, run_bench
from pgclinic.bench.run_events import BenchEvents
from pgclinic.bench.seconds_file import refuse_unwritable
from pgclinic.bench.secrets import without_secrets
from pgclinic.bench.server_connection import ServerConnection, open_connection
from pgclinic.bench.silence import SilenceWatch
from pgclinic.bench.tpcc_data import FillListener, settle, violations
from pgclinic.cli.bench_live import BenchLive
from pgclinic.cli.interrupts import first_one_stops
from pgclinic.cli.output import say
from pgclinic.errors import PgclinicError
from pgclinic.lab.measuring import measurement
from pgclinic.live_export.live_export import LiveExport, exporting
from pgclinic.live_export.target import parse_targets
from pgclinic.load.engine import Stopper, check_script, refuse_debug_engine
from pgclinic.load.pgbench_tables import InitListener, done_line, initialize
from pgclinic.model.bench import RateTrial, TpccViolation
from pgclinic.model.event import Event
from pgclinic.model.load import LoadSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.progress import BESIDE
from pgclinic.model.run import RunKind
from pgclinic.store.bench_folder import new_bench_folder
from pgclinic.store.run_folder import RunFolder
from pgclinic.trial.shell_account import with_shell_account


def run_bench_request(request: InitRequest | TpccInitRequest | BenchRequest, words: Sequence[str]) -> int:
    """Fill tables or run a load, as asked by the ``words`` of the command line, and return the exit code."""
    match request:
        case InitRequest():
            _initialize(request)
        case TpccInitRequest():
            _initialize_tpcc(request)
        case BenchRequest():
            return _benchmark(request, words)
    return 0


def _initialize(request: InitRequest) -> None:
    """Drop, create, fill, vacuum and make keys, as the steps of ``-i`` say."""
    with open_connection(request.address, for_load=False, ask_password=_ask_password) as connection:
        if request.debug:
            say(f"{connection.words}: {_without_address(request)}")
        connection.session.on_notice(say)
        with BenchLive(sys.stderr, plain=request.plain) as live:
            times = initialize(connection.session, request.tables, InitListener(say, live.filled, request.quiet))
    say(done_line(times))


def _initialize_tpcc(request: TpccInitRequest) -> None:
    """Fill the nine tables of TPC-C and check them."""
    from pgclinic.bench.tpcc_initialize import initialize_tpcc

    with (
        BenchLive(sys.stderr, plain=request.plain) as live,
        open_connection(request.address, for_load=False, ask_password=_ask_password) as connection,
    ):
        if request.debug:
            live.say(f"{connection.words}: {_without_address(request)}")
        times = initialize_tpcc(connection.access, request, FillListener(stage=live.stage, filled=live.filling))
    say(done_line(times))


def _benchmark(request: BenchRequest, words: Sequence[str]) -> int:
    """Run, print, write, and return the exit code. All that can be refused is refused before the server is touched."""
    _refuse_early(request)
    request = _on_twin(request)
    command = ["pgclinic", "bench", *without_secrets(words)]
    # The folder is this command's until its report is written, when the server may long be gone.
    with ExitStack() as kept:
        with (
            BenchLive(sys.stderr, request, plain=request.outputs.plain) as live,
            exporting(request.outputs.export, {"kind": RunKind.BENCH.value}, live.say) as export,
            _connection(request, live) as connection,
        ):
            if request.lab is None:
                from pgclinic.cli.leftovers import say_dropped_on

                say_dropped_on(connection.access, live.say)
            request = settle(request, connection.access)
            tables = read_tables(connection.session, request, connection.access.server.database, live.say)
            spec = with_shell_account(load_spec(request, tables, connection))
            if request.debug:
                live.say(f"{connection.words}: {_without_password(spec)}")
            vacuum(connection.session, request, live.say)
            info = info_of_new_bench(request, command, connection.words)
            runs = request.outputs.runs
            folder = kept.enter_context(nullcontext() if runs is None else new_bench_folder(runs, info))
            ran = _run(request, spec, connection, live, _added_to(folder, export))
            broken = _check_data(request, ran, connection, live)
            trial = trial_of(ran)
            export.doubts(trial.doubts if trial is not None else ())
            result = make_result(request, ran, connection, tables, command, broken, trial)
            from pgclinic.cli.bench_end import EndedBench, finish_bench

            ended = EndedBench(info, result, trial, ran.observed.seconds if ran.observed else ())
        finish_bench(ended, request.outputs, folder)
    return result.exit_code


def _refuse_early(request: BenchRequest) -> None:
    """Raise UsageError for files that cannot be written and scripts that cannot be read."""
    outputs = request.outputs
    parse_targets(outputs.export)
    refuse_debug_engine()
    refuse_unwritable("--seconds", outputs.seconds)
    refuse_unwritable("--hdr", [outputs.hdr] if outputs.hdr is not None else [])
    refuse_unwritable("--report", [outputs.report] if outputs.report is not None else [])
    for chosen in request.scripts:
        check_script(chosen.script.name, chosen.script.text, request.protocol)


def _on_twin(request: BenchRequest) -> BenchRequest:
    lab = request.lab
    if lab is None or lab.twin is None:
        return request
    from pgclinic.experiment.on_twin import bench_on_twin
    from pgclinic.report.sections.twin.text import twin_summary_text

    with BenchLive(sys.stderr, plain=request.outputs.plain) as live:
        settled, fidelity = bench_on_twin(request, lab, lab.twin, live.stage)
    if fidelity is not None:
        say(twin_summary_text(fidelity))
    return settled


def _connection(request: BenchRequest, live: BenchLive) -> AbstractContextManager[ServerConnection]:
    if request.lab is None:
        return open_connection(request.address, for_load=True, ask_password=_ask_password)
    from pgclinic.bench.lab_server import lab_connection
    from pgclinic.cli.leftovers import say_cleaned

    say_cleaned()
    return lab_connection(request, request.lab, FillListener(stage=live.stage, filled=live.filling))


def _added_to(folder: RunFolder | None, export: LiveExport) -> Callable[[Event], None]:
    """Return what takes the events: the run folder where there is one, then the export."""

    def add(event: Event) -> None:
        if folder is not None:
            folder.add_event(event)
        export.event(event)

    return add


def _run(
    request: BenchRequest,
    spec: LoadSpec,
    connection: ServerConnection,
    live: BenchLive,
    add_event: Callable[[Event], None],
) -> Ran:
    stopper = Stopper()
    events = BenchEvents(
        add_event,
        spec,
        at_most=request.until_stable,
        is_search=request.find_rate is not None,
    )
    silence = SilenceWatch(connection.session.server_answers, stopper)

    def follow(progress: LoadProgress) -> None:
        events.progress(progress)
        live.progress(progress)
        silence.progress(progress)

    def next_load(number: int, rate: str) -> None:
        events.load_begins(number, rate)
        live.trial(rate)

    def rate_known(trial: RateTrial) -> None:
        events.load_ended(trial)
        live.rate(trial)

    listener = RunListener(
        on_progress=follow,
        on_second=events.second,
        on_search=live.search,
        on_trial=next_load,
        on_rate=rate_known,
        on_event=live.event,
    )
    with first_one_stops(stopper.stop), _known_to_others(live):
        observer = Observer(request, connection) if request.observe else None
        ran = run_bench(request, spec, Loads(listener, stopper, observer))
    silence.refuse()
    return ran


@contextmanager
def _known_to_others(live: BenchLive) -> Iterator[None]:
    """Other commands hear of this one, and it says when they measure as well; without a lab home none can."""
    with ExitStack() as stack:
        with suppress(PgclinicError, OSError):
            stack.enter_context(measurement(lambda: live.say(f"  {BESIDE}")))
        yield


def _check_data(
    request: BenchRequest, ran: Ran, connection: ServerConnection, live: BenchLive
) -> tuple[TpccViolation, ...] | None:
    """Return what the run left inconsistent, None where nobody asks. After Ctrl-C nobody waits for it."""
    if request.tpcc is None or not request.tpcc.check or ran.load.stopped == "interrupted":
        return None
    live.stage("checking consistency")
    return violations(connection.access, request.tpcc)


def _without_password(spec: LoadSpec) -> str:
    target = msgspec.structs.replace(spec.target, password=None)
    return msgspec.json.encode(msgspec.structs.replace(spec, target=target)).decode()


def _without_address(request: InitRequest | TpccInitRequest) -> str:
    """Return what is asked for, as a text; a connection string may hold a password."""
    return str(replace(request, address=Address()))


def _ask_password() -> str | None:
    """Ask for the password on the terminal, as pgbench does, and return it; None where there is no terminal.

    A script may come from standard input.
    """
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return getpass.getpass("Password: ")
