"""How alike a twin is: it is built in the lab, its workload runs there, and what the server counts is compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pgclinic.capture.live_session import live_session
from pgclinic.capture.twin import capture_twin
from pgclinic.capture.workload import capture_workload
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import Stopper, run_load
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.load import LoadResult, LoadSpec, Pace
from pgclinic.model.record import Record
from pgclinic.model.twin import Twin, TwinWorkload
from pgclinic.pg.load_target import target_of
from pgclinic.pg.powers import may_leave_database
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.settings.portable import portable_settings
from pgclinic.trial.server import template_of
from pgclinic.twin.author import AUTHOR, Administrator
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.fidelity import PlanComparison, fidelity
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.mix import TwinMix, twin_mix
from pgclinic.twin.original_values import OriginalValues
from pgclinic.twin.plans import compared_plans
from pgclinic.twin.values import ValueSource

_TIMEOUT_MS = 60_000
_COUNTED = "pg_stat_statements"
#: Longer than the counters are read for: the load must be running at both ends.
_BESIDE_S = 3.0
_CLIENTS_MAX = 64
#: What is compared is counted by the server.
COUNTING = {"shared_preload_libraries": _COUNTED, "pg_stat_statements.track": "top"}


class CheckRequest(Record):
    """``clients`` is None for as many as the original had sessions in transactions; a ``rate_tps`` is an open loop."""

    seconds: float = 10.0
    clients: int | None = None
    scale: float = 1.0
    rate_tps: float | None = None
    seed: int = 1


class CheckedTwin(Record):
    """A twin's workload, as scripts, how alike it is, and with what sessions and settings it runs."""

    fidelity: Fidelity
    mix: TwinMix
    clients: int
    settings: dict[str, str]


def check_twin(
    path: Path,
    binaries: Binaries,
    request: CheckRequest,
    *,
    against: Access | None = None,
    known: Mapping[int, CalibratedStatement] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    on_stage: Callable[[str], None] = lambda _: None,
) -> CheckedTwin:
    """Build the twin in ``path``, run its workload and compare it with what was captured.

    With ``against`` plans are compared with those of the original, which is asked by EXPLAIN alone. ``known`` are
    statements by query id whose values have been found before; once it ``should_stop`` no more are found. Raises
    UsageError, RunFailedError.
    """
    twin = read_twin(path)
    if against is not None and may_leave_database(against):
        raise UsageError(
            f"{against.server.user} may run programs or use files of the server, and so could functions in the "
            "statements of others when they are planned",
            hint="name a role with pg_monitor and SELECT on the tables: --against 'postgres://reader@host/database'",
        )
    template = template_of(binaries, keep_twin(path, scale=request.scale), on_stage=on_stage)
    settings = known_settings(binaries, twin)
    with start_server(binaries, settings=settings | COUNTING, template=template) as running:
        access = Access(running.server, running.secrets, author=AUTHOR)
        mix, found = _checked(access, twin, request, against, (known, should_stop), on_stage)
    return CheckedTwin(fidelity=found, mix=mix, clients=request.clients or usual_clients(twin), settings=settings)


def _checked(
    access: Access,
    twin: Twin,
    request: CheckRequest,
    against: Access | None,
    values: tuple[Mapping[int, CalibratedStatement] | None, Callable[[], bool]],
    on_stage: Callable[[str], None],
) -> tuple[TwinMix, Fidelity]:
    with Administrator(access) as administrator:
        # A twin's template has it already; one of an attached server may not.
        administrator.create_apart(_COUNTED)
    with Session(
        access.of_author, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic", users_search_path=True
    ) as session:
        on_stage("comparing statistics")
        built = capture_twin(access)
        on_stage("finding values for the statements")
        mix = twin_mix(session, twin, seed=request.seed, known=values[0], should_stop=values[1])
        if not mix.scripts and values[1]():
            raise RunFailedError("there was no time to find values for any statement", hint="raise --budget")
        if not mix.scripts:
            raise RunFailedError("no statement of the twin can run", hint="see the reasons: pgclinic capture twin")
        plans: tuple[PlanComparison, ...] = ()
        if against is not None:
            on_stage("comparing plans")
            plans = _plans(session, twin, mix, against)
        on_stage("running the workload")
        load, again = _run(access, twin, mix, request)
    return mix, fidelity(twin, built, mix, again, load, plans, scale=request.scale)


def _plans(session: Session, twin: Twin, mix: TwinMix, against: Access) -> tuple[PlanComparison, ...]:
    original = capture_twin(against) if twin.masked else twin
    with live_session(against) as live:
        # As the planner is set there, and with the names that its own sessions find.
        live.rows(query("session_as_configured", against.major))
        live.rows("select pg_catalog.set_config('search_path', %(path)s, false)", {"path": _search_path(twin)})
        source = ValueSource(session, twin)
        return compared_plans(mix.statements, source, session, live, OriginalValues(twin, original))


def _search_path(twin: Twin) -> str:
    return twin.settings.get("search_path", '"$user", public')


def _run(access: Access, twin: Twin, mix: TwinMix, request: CheckRequest) -> tuple[LoadResult, TwinWorkload]:
    """Run the mix for as long as the counters are read, and a little longer at both ends."""
    spec = LoadSpec(
        target=target_of(access),
        scripts=mix.scripts,
        clients=request.clients or usual_clients(twin),
        measure_s=request.seconds + 2 * _BESIDE_S,
        seed=request.seed,
        pace=Pace(rate_tps=request.rate_tps),
    )
    stopper, results, failures = Stopper(), list[LoadResult](), list[BaseException]()

    def run() -> None:
        try:
            results.append(run_load(spec, stopper=stopper))
        except BaseException as error:  # noqa: BLE001  it is raised again by the thread that waits
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        threading.Event().wait(1.0)
        again = _counted(access, request.seconds)
    finally:
        stopper.stop()
        thread.join()
    if failures:
        raise failures[0]
    return results[0], again


def _counted(access: Access, seconds: float) -> TwinWorkload:
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-observe") as session:
        return capture_workload(session, access.major, observe_s=seconds).workload


def usual_clients(twin: Twin) -> int:
    """As many sessions as were in transactions on the original, on average."""
    profile = twin.workload.connections
    return min(_CLIENTS_MAX, round(profile.active + profile.idle_in_transaction) or 1)


def known_settings(binaries: Binaries, twin: Twin) -> dict[str, str]:
    """The original's, as far as this version has them and a server of the lab may start with them."""
    catalog = settings_catalog(binaries)
    portable = portable_settings(catalog, twin.settings).settings
    return {name: value for name, value in portable.items() if catalog.find(name) is not None}
