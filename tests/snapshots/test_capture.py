"""What ``capture`` prints, and the page of a recorded horizon."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.snapshot_parts import SERVER
from fixtures.snapshots import Snapshots, page_sections
from pgclinic.model.horizon import HorizonPoint, HorizonRecording
from pgclinic.model.snapshot import HorizonHolding, SettingState, Snapshot
from pgclinic.model.snapshot_counters import Counters
from pgclinic.model.twin import Gap, HorizonHold
from pgclinic.report.sections.horizon.text import horizon_text
from pgclinic.report.sections.horizon.view import render_horizon
from pgclinic.report.sections.snapshot.text import snapshot_text

SETTING = SettingState(
    name="work_mem",
    value="4096",
    unit="kB",
    source="configuration file",
    file=None,
    line=None,
    default_value="4096",
    reset_value="4096",
    context="user",
    kind="integer",
    category="Resource Usage / Memory",
    pending_restart=True,
)
HELD = HorizonHolding(
    kind="session",
    key="4711 1",
    holder="report",
    pid=4711,
    user="app",
    database="shop",
    state="idle in transaction",
    xmin_age=8_561_122,
    catalog_xmin_age=None,
    held_s=8040.0,
    is_here=True,
    query=None,
)
SNAPSHOT = Snapshot(
    pgclinic="0.1.0",
    taken_epoch_s=1_700_000_000.0,
    took_s=0.842,
    server=SERVER,
    counters=Counters(at_epoch_s=1_700_000_000.0),
    settings=(SETTING,),
    horizon=(HELD,),
    gaps=(
        Gap(what="counters.io", problem="PostgreSQL 16", since=16),
        Gap(what="sessions", problem="hidden", grant="grant pg_read_all_stats to reader"),
        Gap(what="counters.statements", problem="missing", grant="create extension pg_stat_statements"),
        Gap(what="statement_texts", problem="missing", grant="create extension pg_stat_statements"),
        Gap(what="sizes", problem="locked", tables=("public.a", "public.b", "public.c", "public.d")),
        Gap(what="columns", problem="hidden", tables=("public.a",), grant="grant pg_read_all_data to reader"),
        Gap(
            what="counters.slru", problem="permission denied for view pg_stat_slru", grant="grant pg_monitor to reader"
        ),
    ),
)
RECORDING = HorizonRecording(
    pgclinic="0.1.0",
    server_version="16.4",
    database="shop",
    began_epoch_s=1_700_000_000.0,
    duration_s=3600.0,
    every_s=1.0,
    bin_s=1.0,
    series=(
        HorizonPoint(at_s=0.0, age_transactions=0, held_s=0.0),
        HorizonPoint(at_s=900.0, age_transactions=120_000, held_s=840.0, kind="session"),
        HorizonPoint(at_s=1800.0, age_transactions=12, held_s=2.0, kind="query"),
    ),
    holds=(
        HorizonHold(kind="session", began_s=60.0, held_s=900.0, age_transactions=120_000, holder="report"),
        HorizonHold(kind="query", began_s=1700.0, held_s=2.5, age_transactions=12, holder="psql"),
        HorizonHold(kind="standby", began_s=-20.0, held_s=30.0, age_transactions=400, holder="east"),
        HorizonHold(kind="slot", began_s=-900.0, held_s=4500.0, holder="gone", lasts=True, catalog_only=True),
    ),
    samples=3600,
    missed=2,
    transactions=480_000,
    about="A quiet hour.",
)


@pytest.mark.parametrize(
    ("name", "snapshot"),
    [
        ("snapshot-with-gaps", SNAPSHOT),
        ("snapshot-of-a-standby", replace(SNAPSHOT, gaps=(), horizon=(), server=replace(SERVER, in_recovery=True))),
    ],
)
def test_snapshot(name: str, snapshot: Snapshot, snapshots: Snapshots) -> None:
    snapshots.check(name, snapshot_text(snapshot))


def test_horizon(snapshots: Snapshots) -> None:
    snapshots.check("horizon", horizon_text(RECORDING))
    snapshots.check("horizon-of-nobody", horizon_text(replace(RECORDING, holds=(), missed=0)))


def test_page(snapshots: Snapshots) -> None:
    snapshots.check_page("page", page_sections(render_horizon(RECORDING)))
    assert "Nobody held the horizon" in render_horizon(replace(RECORDING, holds=(), series=()))
