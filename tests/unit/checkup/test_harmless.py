"""No cure causes a finding: values that are wanted are bounded, and lowered or dropped where a detector objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import client, healthy_snapshot
from fixtures.counted import host as host_of
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.detect import detect
from pgclinic.checkup.harmless import caused_by, raised_by, without_harm
from pgclinic.checkup.pathology import Pathology
from pgclinic.checkup.treatments import change_role_setting, change_settings
from pgclinic.model.finding import Finding, Treatment
from pgclinic.model.snapshot import RoleSetting, Snapshot, StatementText
from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.settings.units import amount_of

GB = 1 << 30
MB = 1 << 20


def with_settings(snapshot: Snapshot, **values: str) -> Snapshot:
    return replace(
        snapshot,
        settings=tuple(
            replace(setting, value=values.get(setting.name, setting.value)) for setting in snapshot.settings
        ),
    )


def spilling(files_per_call: int, file_bytes: int, calls: int = 100, **settings: str) -> Snapshot:
    """A statement whose calls write so many files each, on a server with 300 connections."""
    healthy = with_settings(healthy_snapshot(), max_connections="300", **settings)
    (database,) = [one for one in healthy.counters.databases if one.name == healthy.server.database]
    counted = replace(
        database,
        temporary_files=files_per_call * calls,
        temporary_bytes=files_per_call * calls * file_bytes,
    )
    others = [one for one in healthy.counters.databases if one.name != database.name]
    statement = replace(
        statement_counters(),
        calls=calls,
        total_ms=50_000.0,
        temporary_written=files_per_call * calls * file_bytes // healthy.server.block_bytes,
    )
    return replace(
        healthy,
        sessions=(client(1), client(2)),
        counters=replace(healthy.counters, databases=(counted, *others), statements=(statement,)),
        statement_texts=(StatementText(query_id=1, text="select v, count(*) from orders group by v order by v"),),
    )


def statement_counters() -> StatementCounters:
    numbers = dict.fromkeys(StatementCounters.__struct_fields__, 0)
    return StatementCounters(**{**numbers, "query_id": 1, "user": "app", "is_top_level": True})  # type: ignore[arg-type]


def values_of(finding: Finding) -> dict[str, str]:
    """The value of work_mem by how it is given."""
    found = {}
    for treatment in finding.treatments:
        if treatment.settings:
            found["server"] = treatment.settings["work_mem"]
        elif treatment.sql[0].startswith("alter role"):
            found["role"] = treatment.sql[0].rpartition(" ")[2].strip("'")
        else:
            found["statement"] = treatment.sql[0].rpartition(" ")[2].strip("'")
    return found


def work_mem_small(case: Case) -> Finding:
    findings, unchecked = detect(case, [catalog()["work-mem-small"]])
    assert not unchecked
    (finding,) = findings
    return finding


def test_what_is_wanted_follows_from_one_file_and_not_from_all_of_a_call() -> None:
    finding = work_mem_small(Case(spilling(40, 4 * MB), host=host_of(memory_bytes=25 * GB)))
    assert values_of(finding) == {"role": "8MB", "statement": "8MB", "server": "8MB"}
    assert finding.treatments[0].sql[0].startswith("alter role")


def test_the_memory_of_the_machine_bounds_what_all_sessions_may_take() -> None:
    case = Case(spilling(1, 400 * MB), host=host_of(memory_bytes=25 * GB))
    values = values_of(work_mem_small(case))
    # 300 sessions with a sort and a grouping each.
    assert values["server"] == "32MB"
    assert values["statement"] == "1024MB"
    assert amount_of(values["role"].rstrip("MB"), "MB") == 1 * GB


def test_without_memory_for_all_sessions_only_the_role_or_the_statement_gets_more() -> None:
    values = values_of(work_mem_small(Case(spilling(1, 40 * MB), host=host_of(memory_bytes=2 * GB))))
    assert set(values) == {"role", "statement"}
    assert set(values_of(work_mem_small(Case(spilling(1, 40 * MB))))) == {"role", "statement"}


def test_files_of_the_past_and_files_too_large_for_a_setting_are_no_finding() -> None:
    for files, size in ((40, 1 * MB), (1, 600 * MB)):
        assert detect(Case(spilling(files, size)), [catalog()["work-mem-small"]])[0] == ()
    raised = replace(
        spilling(40, 4 * MB), role_settings=(RoleSetting(database=None, role="app", name="work_mem", value="8MB"),)
    )
    assert detect(Case(raised), [catalog()["work-mem-small"]])[0] == ()


def raised_to(case: Case, value: str) -> Treatment:
    return change_settings(case, {"work_mem": value}, title=f"raise work_mem to {value}", risk="memory")


@pytest.mark.parametrize(("memory_gb", "expected"), [(1000, "1024MB"), (25, "64MB"), (2, None)])
def test_a_treatment_that_would_cause_a_finding_is_lowered_or_dropped(memory_gb: int, expected: str | None) -> None:
    case = Case(spilling(40, 4 * MB), host=host_of(memory_bytes=memory_gb * GB))
    seen, _ = detect(case, catalog().values())
    asked = [
        replace(one, treatments=(raised_to(case, "1024MB"),)) if one.pathology == "work-mem-small" else one
        for one in seen
    ]
    (kept,) = [one for one in without_harm(case, asked, catalog()) if one.pathology == "work-mem-small"]
    assert [one.settings["work_mem"] for one in kept.treatments] == ([expected] if expected else [])
    assert [one.title for one in kept.treatments] == ([f"raise work_mem to {expected}"] if expected else [])
    if expected != "1024MB":
        caused = caused_by(case, raised_to(case, "1024MB"), seen, catalog())
        assert [one.pathology for one in caused] == ["memory-overcommitted"]
    assert not [one for treatment in kept.treatments for one in caused_by(case, treatment, seen, catalog())]


def test_what_raises_a_number_is_known_for_servers_and_roles() -> None:
    case = Case(spilling(1, 4 * MB))
    assert raised_by(case, raised_to(case, "8MB")) == ("work_mem",)
    assert raised_by(case, raised_to(case, "1MB")) == ()
    assert raised_by(case, raised_to(case, "4096kB")) == ()
    role: dict[str, Any] = {"title": "more", "risk": "memory"}
    assert raised_by(case, change_role_setting(case, 'odd "role', "work_mem", "8MB", **role)) == ("work_mem",)
    assert raised_by(case, change_role_setting(case, "app", "enable_sort", "off", **role)) == ()


def test_a_detector_that_reads_no_setting_that_changes_is_not_asked_again() -> None:
    case = Case(spilling(1, 4 * MB), host=host_of(memory_bytes=GB))
    count: dict[str, int] = {}

    def counting(one: Pathology) -> Pathology:
        def detect_and_count(given: Case) -> Any:
            count[one.name] = count.get(one.name, 0) + 1
            return one.detect(given)

        return dataclasses.replace(one, detect=detect_and_count)

    known = {name: counting(one) for name, one in catalog().items()}
    finding = replace(work_mem_small(case), treatments=(raised_to(case, "1024MB"),))
    without_harm(case, [finding], known)
    assert count["memory-overcommitted"] > 1
    assert count["fsync-off"] == 1
