"""Commits per statement: what the load of a twin did against what the original's server counted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import histogram, load_result
from pgclinic.model.fidelity import FigureName
from pgclinic.model.load import LoadResult, ScriptResult, StatementResult
from pgclinic.model.twin import TransactionSeen, Twin, TwinStatement, TwinWorkload
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.typed_statement import typed_statement
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.choice import Choice
from pgclinic.twin.fidelity import fidelity
from pgclinic.twin.mix import TwinMix
from pgclinic.twin.parameters import RunnableStatement
from pgclinic.twin.transactions import grouped
from pgclinic.twin.tried_choices import Tried

SCHEMA = KnownSchema({("public", "t"): KnownTable("public.t", {"x": KnownColumn("x", "bigint")})})


def statement(query_id: int, text: str, kind: str, calls: int) -> TwinStatement:
    return TwinStatement(query_id=query_id, text=text, kind=kind, calls=calls, rows=calls, total_ms=1.0)


#: 400 statements by themselves, and 100 transactions of two.
STATEMENTS = (
    statement(1, "select x from t where x = $1", "select", 400),
    statement(2, "insert into t values ($1)", "insert", 100),
    statement(3, "update t set x = $1", "update", 100),
    statement(4, "begin", "begin", 100),
    statement(5, "commit", "commit", 100),
)
TWIN = Twin(
    version="18.6",
    version_num=180006,
    captured_epoch_s=0.0,
    capture_s=1.0,
    database="d",
    database_bytes=1,
    encoding="UTF8",
    collate="C",
    ctype="C",
    settings={},
    objects=(),
    tables=(),
    workload=TwinWorkload(
        statements=STATEMENTS,
        transactions=(
            TransactionSeen(query_ids=(1,), seen=50, samples=50, alone=True),
            TransactionSeen(query_ids=(2, 3), seen=20, samples=40, explicit=True),
        ),
        since_s=10.0,
        is_difference=True,
    ),
)


def ran(alone: int, together: int) -> LoadResult:
    """A load in which so many transactions of each kind ran, as the engine names their statements."""
    parts = (("1 select t", alone, ("SELECT x",)), ("2 insert t", together, ("BEGIN;", "INSERT", "UPDATE", "COMMIT;")))
    scripts = tuple(
        ScriptResult(
            name=name,
            weight=1,
            transactions=count,
            failed=0,
            skipped=0,
            retried=0,
            retries=0,
            latency=histogram(count),
            statements=tuple(
                StatementResult(line=line, text=text, executions=count, failures=0, latency=histogram(count))
                for line, text in enumerate(texts, start=1)
            ),
        )
        for name, count, texts in parts
    )
    return replace(load_result([float(alone + together)]), transactions=alone + together, scripts=scripts)


@pytest.mark.parametrize(
    ("alone", "together", "off"), [(400, 100, 0.0), (40, 10, 0.0), (100, 400, 1.0 - (500 / 900) / (500 / 600))]
)
def test_begin_and_commit_are_no_statements_of_the_workload(alone: int, together: int, off: float) -> None:
    statements = tuple(
        CalibratedStatement(
            statement=RunnableStatement(counted=one, typed=typed_statement(one.text, SCHEMA)),
            tried=Tried(choice=Choice(), rows_per_call=1.0, blocks_per_call=1.0, distance=0.0, draws=1),
        )
        for one in STATEMENTS[:3]
    )
    grouping = grouped(TWIN.workload, (1, 2, 3))
    mix = TwinMix(scripts=(), statements=statements, sent=(), grouping=grouping, omissions=())
    found = fidelity(TWIN, TWIN, mix, TWIN.workload, ran(alone, together))
    share = next(figure.share for figure in found.figures if figure.name is FigureName.COMMITS)
    assert share == pytest.approx(off)
    assert found.judges_throughput is (off <= 0.1)
