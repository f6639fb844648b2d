"""The server counts nothing, so autovacuum never starts."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Role, Severity


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("track_counts") != "off":
        return
    evidence = [setting_evidence(case, "track_counts")]
    if "autovacuum" in case.settings:
        evidence.append(setting_evidence(case, "autovacuum"))
    yield Seen(
        subject="track_counts",
        severity=Severity.WARNING,
        evidence=tuple(evidence),
        treatments=(
            change_settings(
                case,
                {"track_counts": "on"},
                title="count what happens to tables",
                risk="none that was ever measured",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="statistics-collection-off",
    title="the server does not count what happens to its tables",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="Autovacuum decides by the counters of each table, and with track_counts off there are none. It vacuums "
    "and analyzes nothing, except to prevent wraparound, and no view shows the dead rows that stay.",
    threshold="The setting is on or off; off, no table is ever vacuumed in time, whatever its load.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-statistics.html#GUC-TRACK-COUNTS",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",
    ),
    detect=_detect,
    explains=(
        "autovacuum-off",
        "dead-rows",
        "table-bloat",
        "index-bloat",
        "toast-bloat",
        "catalog-bloat",
        "visibility-map-stale",
        "stale-statistics",
        "never-analyzed",
        "unused-indexes",
        "orphaned-temporary-tables",
    ),
    no_proof="what it costs grows over hours, and a twin is filled anew",
)
