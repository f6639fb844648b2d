"""The plans of a load's statements, asked for when it is over: each script once more, with auto_explain on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec.structs import replace

from pgclinic.errors import LoadError
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadSpec, Pace
from pgclinic.model.log import PlanLogged
from pgclinic.model.server import Server
from pgclinic.model.trial_events import TrialEvent
from pgclinic.pg.session import Access, QueryError
from pgclinic.trial.server_log import TrialLog
from pgclinic.twin.author import Administrator

APPLICATION_NAME = "pgclinic-plans"
#: A statement that takes longer has no plan.
LIMIT_S = 10.0
#: TPC-C's five transactions are drawn: so many show all of them as a rule.
TPCC_TRANSACTIONS = 24


def capture_plans(access: Access, load: LoadSpec, began_s: float) -> tuple[TrialEvent, ...]:
    """Plans as the server logs them, those inside functions too; none where its log or auto_explain cannot be had.

    The transactions run as they do in the load, so the data change as much. ``load`` has its target.
    """
    log = TrialLog(access.server, APPLICATION_NAME)
    settings = _settings(access.server)
    options = None if access.author else " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())
    target = replace(load.target, application_name=APPLICATION_NAME, options=options)
    once = replace(
        load,
        target=target,
        clients=1,
        threads=1,
        pace=Pace(),
        warm_up_s=0.0,
        measure_s=None,
        transactions_per_client=TPCC_TRANSACTIONS if load.tpcc is not None else 1,
        limit_s=LIMIT_S,
        statement_timeout_s=LIMIT_S,
        log=None,
    )
    scripts = [replace(once, scripts=(replace(script, weight=1),)) for script in load.scripts]
    with _settings_of_author(access, settings):
        for spec in [once] if load.tpcc is not None else scripts:
            # A server without auto_explain refuses the session: then there are no plans.
            with suppress(LoadError):
                run_load(spec)
    return tuple(one for one in log.read(began_s).kept if isinstance(one.event, PlanLogged))


@contextmanager
def _settings_of_author(access: Access, settings: dict[str, str]) -> Iterator[None]:
    """The role of a twin's author may not load a library: its sessions begin with what a superuser set for it."""
    if access.author is None:
        yield
        return
    with Administrator(access) as administrator:
        administrator.forget_settings()
        with suppress(QueryError):
            administrator.set_for_author(settings)
        try:
            yield
        finally:
            administrator.forget_settings()


def _settings(server: Server) -> dict[str, str]:
    """Beside the libraries that sessions load already."""
    before = server.settings.get("session_preload_libraries", "")
    return {
        "session_preload_libraries": f"{before},auto_explain" if before else "auto_explain",
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_nested_statements": "on",
        "auto_explain.log_format": "text",
        "auto_explain.log_analyze": "off",
    }


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
