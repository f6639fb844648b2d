"""Settings for tests of PostgreSQL itself are on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Role, Severity

#: Each with the value that costs nothing.
HARMLESS: Mapping[str, str] = {
    "wal_consistency_checking": "",
    "debug_discard_caches": "0",
    "trace_sort": "off",
    "trace_locks": "off",
    "trace_lwlocks": "off",
    "wal_debug": "off",
    "jit_dump_bitcode": "off",
    "jit_profiling_support": "off",
    "log_btree_build_stats": "off",
    "log_parser_stats": "off",
    "log_planner_stats": "off",
    "log_executor_stats": "off",
    "log_statement_stats": "off",
    "post_auth_delay": "0",
    "pre_auth_delay": "0",
    "backtrace_functions": "",
}


def _detect(case: Case) -> Iterator[Seen]:
    for name, harmless in HARMLESS.items():
        if case.word(name) in (None, harmless):
            continue
        yield Seen(
            subject=name,
            severity=Severity.WARNING,
            evidence=(setting_evidence(case, name),),
            treatments=(
                change_settings(case, {name: harmless}, title="turn it off", risk="its output is missing in the log"),
            ),
        )


PATHOLOGY = Pathology(
    name="developer-settings-on",
    title="a setting for developers of PostgreSQL is on",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="Developer options make the server check or print its own work with every statement: "
    "wal_consistency_checking writes an image of every page that changes to the WAL, the statistics and trace "
    "settings format a text for each statement, and the delays make every connection wait.",
    threshold="Any of them: off is the only value for a server that is in use, and each costs with every statement or "
    "connection.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-developer.html",
        "https://www.postgresql.org/docs/current/runtime-config-statistics.html",
    ),
    detect=_detect,
    explains=("full-page-image-storm", "log-all-statements"),
    proof=ProofOn.TWIN,
)
