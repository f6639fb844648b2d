"""What ``doctor`` prints: a fine machine, one that could be better, and one on which nothing can run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.machine_readings import FINE, GB, HOME, HOST, MACHINE
from fixtures.snapshots import Snapshots
from pgclinic.cli.doctor_run import doctor_output
from pgclinic.model.doctor import (
    BusyProgram,
    DoctorReadings,
    FlushRate,
    InstalledExtra,
    IoUringState,
    LabHome,
    Leftover,
    LeftoverKind,
    StartableVersion,
)
from pgclinic.report.sections.doctor.text import doctor_text

LEFT = (
    Leftover(
        kind=LeftoverKind.SERVER,
        name="pg18-ab12",
        reason="its command was killed",
        command="pgclinic lab list",
        processes=7,
        bytes=42_000_000,
    ),
    Leftover(
        kind=LeftoverKind.SHARED_MEMORY,
        name="System V segment 4711",
        reason="the process that made it has gone",
        command="ipcrm -m 4711",
        bytes=56,
    ),
)
BETTER = DoctorReadings(
    machine=replace(MACHINE, cores=2, governor="powersave"),
    host=replace(
        HOST,
        processors=2,
        memory_available_bytes=GB,
        group_processors=1.5,
        group_memory_bytes=4 * GB,
        cpu_stolen_share=0.03,
        huge_pages=0,
        huge_pages_free=0,
        clock_source="hpet",
    ),
    home=replace(
        HOME,
        bytes_free=4 * GB,
        flush=FlushRate(flushes=90, elapsed_s=0.5, flush_us_p50=3_100.0, flush_us_p90=14_200.0),
    ),
    engine_profile="release",
    versions=(StartableVersion(version="18.6", source="embedded", jit=False),),
    extras=(InstalledExtra(name="advise", installed=True), InstalledExtra(name="ray", installed=False)),
    leftovers=LEFT,
    programs=tuple(BusyProgram(name=name, cores=cores) for name, cores in (("rustc", 0.7), ("java", 0.2))),
    others_cores=0.93,
    measuring=False,
    clock_read_ns=912.0,
    io_uring=IoUringState.REFUSED,
    perf_event_paranoid=4,
    perf_allowed=False,
)
NOTHING = replace(
    FINE,
    home=LabHome(
        path="/srv/cache",
        account=None,
        problem="the lab cannot keep its files in /srv/cache/instances: Permission denied",
        hint="set PGCLINIC_HOME to another directory",
    ),
    versions=(),
    engine_profile="debug",
)
TEXTS = {"fine": FINE, "better": BETTER, "nothing": NOTHING, "unseen": replace(FINE, host=None, others_cores=None)}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, snapshots: Snapshots) -> None:
    snapshots.check(name, doctor_text(doctor_output(TEXTS[name])))


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(TEXTS))
