"""The applications of the tests: every statement of their clients runs on real servers, and on a twin of its rows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.application import SETTINGS, Application, at_work
from fixtures.clinic import CLINIC
from fixtures.command import wait_for
from fixtures.drawn import drawn_majors
from fixtures.lab_home import MAJORS, binaries_for
from fixtures.shop import SHOP
from pgclinic.capture.twin import capture_twin
from pgclinic.experiment.twin_check import CheckRequest, check_twin
from pgclinic.load.engine import run_load
from pgclinic.model.fidelity import FigureName
from pgclinic.model.load import CommandKind, LoadResult
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.twin.file import write_twin
from pgclinic.twin.mask import mask_twin

CLIENTS = 2
#: Enough for a script that draws one of eight statements to reach each of them; else it is run again.
TRANSACTIONS, ROUNDS = 40, 5


@pytest.mark.parametrize(
    ("application", "major"),
    [(one, major) for one in (SHOP, CLINIC) for major in drawn_majors(f"scripts of {one.name}", MAJORS)],
    ids=lambda value: value.name if isinstance(value, Application) else value,
)
def test_every_statement_of_every_script_runs(application: Application, major: str) -> None:
    with application.copied_server(major, SETTINGS | {"fsync": "off"}) as running:
        load = replace(application.load(running, clients=CLIENTS), measure_s=None, transactions_per_client=TRANSACTIONS)
        for script in application.scripts:
            left = set[int]()
            for seed in range(ROUNDS):
                result = run_load(replace(load, scripts=(script,), seed=seed))
                assert result.failed == 0, (script.name, result.failures)
                left = (left if seed else _lines(result)) - _lines(result, executions=1)
                if not left:
                    break
            assert not left, (script.name, left)


def _lines(result: LoadResult, *, executions: int = 0) -> set[int]:
    """Of the statements of its only script that ran so often."""
    (script,) = result.scripts
    return {
        statement.line
        for statement in script.statements
        if statement.kind is CommandKind.SQL and statement.executions >= executions
    }


ROWS = """
select sum(reltuples)::bigint from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
"""
KINDS = """
select count(distinct queryid) from pg_stat_statements as s join pg_database as d on d.oid = s.dbid
where d.datname = current_database() and query ~* '^(select|insert|update|delete)' and query !~ 'pg_'
"""


def test_the_clinic_is_large_and_full_of_kinds() -> None:
    with CLINIC.copied_server("18") as running, CLINIC.session(running) as client:
        with at_work(CLINIC.load(running, clients=CLIENTS)):
            # The rarest are an eighth of a hundredth of the transactions.
            wait_for(lambda: client.row(KINDS)[0] > 55)
        assert 900_000 < client.row(ROWS)[0] < 1_200_000


@pytest.mark.drawn(0.2)
def test_the_clinic_has_a_twin_that_runs(tmp_path: Path) -> None:
    """Partitions, documents, arrays, a queue, upserts, a view, a function: all is built, and most of it runs."""
    path = tmp_path / "clinic.twin"
    with CLINIC.copied_server("18") as running, at_work(CLINIC.load(running, clients=CLIENTS)):
        time.sleep(2.0)
        twin = mask_twin(capture_twin(CLINIC.access(running), observe_s=10.0))
    assert twin.gaps == ()
    write_twin(path, twin, masked_text=masked_text(twin))
    checked = check_twin(path, binaries_for("18"), CheckRequest(seconds=6.0, clients=CLIENTS))
    figures = {figure.name: figure for figure in checked.fidelity.figures}
    assert figures[FigureName.CALLS].share >= 0.8, checked.fidelity.omitted
    assert figures[FigureName.ERRORS].is_reached
    assert figures[FigureName.COLUMNS].is_reached, figures[FigureName.COLUMNS].outside
    assert figures[FigureName.ROWS].share >= 0.8, figures[FigureName.ROWS].outside
    assert checked.fidelity.transactions >= 3
