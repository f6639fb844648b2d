"""What ``capture twin`` prints, and what the file says of its values."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.snapshots import Snapshots
from pgclinic.model.twin import (
    ColumnStatistics,
    Gap,
    Mask,
    MaskMethod,
    ObjectKind,
    SchemaObject,
    Twin,
    TwinColumn,
    TwinStatement,
    TwinTable,
    TwinWorkload,
)
from pgclinic.report.sections.capture.text import masked_text, twin_text

COLUMN = TwinColumn(name="city", type="text", base_type="text")
TWIN = Twin(
    version="16.4",
    version_num=160004,
    captured_epoch_s=0,
    capture_s=0.84,
    database="shop",
    database_bytes=1000,
    encoding="UTF8",
    collate="C",
    ctype="C",
    settings={},
    objects=(SchemaObject(kind=ObjectKind.TABLE, name="public.customer", statement="create table public.customer ()"),),
    tables=(
        TwinTable(
            name="public.customer",
            columns=(
                replace(COLUMN, statistics=ColumnStatistics(null_share=0, width=4, distinct=-1)),
                replace(COLUMN, name="id"),
            ),
        ),
    ),
    workload=TwinWorkload(statements=(TwinStatement(query_id=1, text="select $1", calls=5, rows=5, total_ms=1.0),)),
    masks=(
        Mask(table="public.customer", column="city", method=MaskMethod.TRIE, values=120),
        Mask(table="public.customer", column="plan", method=MaskMethod.TRIE, values=3, kept=3, reason="schema literal"),
        Mask(table="public.customer", column="country_code", method=MaskMethod.CODES, values=30),
        Mask(table="public.customer", column="price", method=MaskMethod.MONOTONE, values=201, kept=52, reason="dense"),
        Mask(table="public.customer", column="profile", method=MaskMethod.JSON, values=90),
        Mask(table="public.customer", column="place", method=MaskMethod.DROPPED, values=12, reason="type"),
        Mask(table="public.customer", column="lower(city)", method=MaskMethod.DROPPED, values=12, reason="expression"),
        Mask(table="public.customer", column="id", method=MaskMethod.NONE, values=101, kept=101, reason="key"),
        Mask(table="public.customer", column="segment", method=MaskMethod.NONE, values=3, kept=3, reason="enum"),
        Mask(table="public.customer", column="is|active", method=MaskMethod.NONE, values=2, kept=2, reason="boolean"),
        Mask(table="public.customer", column="idle_for", method=MaskMethod.NONE, values=9, kept=9, reason="duration"),
    ),
    gaps=(
        Gap(
            what="statistics",
            problem="no right to read",
            tables=tuple(f"public.t{number}" for number in range(6)),
            grant="grant pg_read_all_data to watcher",
        ),
        Gap(what="indexes", problem="locked", tables=("public.customer",)),
        Gap(what="base types", problem="public.geometry"),
    ),
)


@pytest.mark.parametrize(
    ("name", "twin"), [("twin", TWIN), ("twin-with-values", replace(TWIN, masked=False, masks=(), gaps=()))]
)
def test_a_captured_twin(snapshots: Snapshots, name: str, twin: Twin) -> None:
    snapshots.check(name, twin_text(twin, Path("shop.twin")))
    snapshots.check(f"{name}-masked", masked_text(twin))
