"""The clean bill: well-configured servers, freshly filled and under load, have no finding that costs anything now.

The machine and the log are left out: this machine runs other tests meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest
from msgspec.structs import replace

from fixtures.drawn import drawn_majors
from fixtures.lab_home import MAJORS, binaries_for
from fixtures.shop import DATABASE, shop_scripts, shop_server
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import Stopper, builtin_scripts, run_load
from pgclinic.load.pgbench_tables import fill_statements
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Severity
from pgclinic.model.load import Convention, LoadSpec, Protocol, Script, TpccSpec
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, Session

#: As somebody sets up a server who has read the manual.
SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "shared_buffers": "256MB",
    "max_connections": "50",
    "fsync": "on",
    "timezone": "UTC",
    # All data are cached. At 4 the shop reads all customers for the hundred who reviewed its most popular product,
    # which takes five times as long as to look them up.
    "random_page_cost": "1.1",
}
CLIENTS = 4
OBSERVED_S = 3.0
#: A load is observed when its caches are warm and its sessions are connected.
WARM_S = 1.5


@contextmanager
def pgbench(major: str) -> Iterator[tuple[Access, LoadSpec]]:
    with start_server(binaries_for(major), settings=SETTINGS) as running:
        access = Access(running.server)
        with _session(access) as client:
            client.execute("create extension pg_stat_statements")
            for statement in fill_statements(10).splitlines():
                client.execute(statement)
            client.execute("vacuum analyze")
            client.execute("select pg_stat_statements_reset()")
        # tpcb-like updates ten branches in turn: on a busy machine its clients rightly wait for each other's rows.
        text = next(script for script in builtin_scripts() if script.name == "simple-update").text
        scripts = (Script(name="simple-update", text=text),)
        yield (
            access,
            LoadSpec(target=target_of(access, application_name="app"), scripts=scripts, protocol=Protocol.PREPARED),
        )


@contextmanager
def tpcc(major: str) -> Iterator[tuple[Access, LoadSpec]]:
    with start_server(binaries_for(major), settings=SETTINGS) as running:
        access = Access(running.server)
        with _session(access) as client:
            client.execute("create extension pg_stat_statements")
        fill_tpcc(access, 1, seed=3)
        with _session(access) as client:
            client.execute("select pg_stat_statements_reset()")
        # Terminals rest between their transactions, as the specification has it: a warehouse has ten.
        yield (
            access,
            LoadSpec(
                target=target_of(access, application_name="app"),
                tpcc=TpccSpec(warehouses=1, convention=Convention.SPEC, waits=True),
            ),
        )


@contextmanager
def shop(major: str) -> Iterator[tuple[Access, LoadSpec]]:
    with shop_server(major, SETTINGS) as running:
        access = in_database(Access(running.server), DATABASE)
        yield access, LoadSpec(target=target_of(access, application_name="app"), scripts=shop_scripts())


WORKLOADS: dict[str, Callable[[str], AbstractContextManager[tuple[Access, LoadSpec]]]] = {
    "pgbench": pgbench,
    "tpcc": tpcc,
    "shop": shop,
}


def _session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=60_000, application_name="fill", users_search_path=True)


def checkup(access: Access, observe_s: float = 0.0) -> Checkup:
    return examine(Case(take_snapshot(access, observe_s=observe_s)), server="healthy")


@contextmanager
def loaded(spec: LoadSpec) -> Iterator[None]:
    """Clients that work until the block ends."""
    stopper = Stopper()
    whole = replace(spec, clients=10 if spec.tpcc else CLIENTS, measure_s=120.0)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run_load, whole, stopper=stopper)
        try:
            time.sleep(WARM_S)
            assert not running.done() or running.result() is None
            yield
        finally:
            stopper.stop()
        running.result(20)


def costly(found: Checkup) -> dict[str, list[str]]:
    return {
        finding.key: [f"{evidence.name} {evidence.facts}" for evidence in finding.evidence]
        for finding in found.findings
        if finding.severity is not Severity.NOTICE
    }


@pytest.mark.parametrize(
    ("workload", "major"),
    [(name, major) for name in WORKLOADS for major in drawn_majors(f"healthy {name}", MAJORS)],
)
def test_a_healthy_server_has_no_finding_that_costs_anything(workload: str, major: str) -> None:
    with WORKLOADS[workload](major) as (access, spec):
        fresh = checkup(access)
        assert not costly(fresh)
        with loaded(spec):
            busy = checkup(access, OBSERVED_S)
        assert busy.active_sessions is not None
        assert not costly(busy)
        # Nothing failed to be looked for by an error of its own.
        assert not [one for one in (*fresh.unchecked, *busy.unchecked) if "Error" in one.reason]
