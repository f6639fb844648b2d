"""A role or a database has planner settings of its own that no configuration file shows."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.role_settings import reset_role_setting, role_setting_evidence, role_setting_owner
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit
from pgclinic.model.snapshot import RoleSetting
from pgclinic.settings.units import amount_of

#: The plan types without which the planner reads whole tables or joins rows by rows.
PLAN_TYPES = frozenset(
    {
        "enable_indexscan",
        "enable_indexonlyscan",
        "enable_bitmapscan",
        "enable_seqscan",
        "enable_hashjoin",
        "enable_mergejoin",
        "enable_nestloop",
        "enable_hashagg",
        "enable_sort",
    }
)
COSTS = frozenset({"seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost"})
#: A cost that is off by more than this makes the planner choose between plans that differ as much.
COST_FACTOR = 20.0
_OFF = frozenset({"off", "false", "no", "0"})
#: Of the time of all statements: what their statements could bring back at most.
TIME_SHARE = 0.1


def _detect(case: Case) -> Iterator[Seen]:
    for setting in case.snapshot.role_settings:
        if not _harms(case, setting):
            continue
        share = _time_share(case, setting)
        yield Seen(
            subject=f"{setting.name} of {role_setting_owner(setting)}",
            severity=Severity.WARNING if share >= TIME_SHARE else Severity.NOTICE,
            confidence=Confidence.LIKELY,
            evidence=(
                role_setting_evidence(
                    setting, Fact(name="share of the time of all statements", value=share, unit=Unit.SHARE)
                ),
            ),
            treatments=(
                reset_role_setting(
                    setting,
                    title="let them have the server's value",
                    risk="their plans change with the next connection; the setting may be there for one statement",
                ),
            ),
        )


def _harms(case: Case, one: RoleSetting) -> bool:
    if one.name in PLAN_TYPES:
        return one.value.lower() in _OFF
    if one.name in COSTS:
        value, default = amount_of(one.value, None), case.default(one.name)
        return value is not None and bool(default) and not _near(value, default or 1.0)
    return one.name == "plan_cache_mode" and one.value == "force_generic_plan"


def _near(value: float, default: float) -> bool:
    return default / COST_FACTOR <= value <= default * COST_FACTOR


def _time_share(case: Case, one: RoleSetting) -> float:
    """Statements are counted by role, and those of this database alone."""
    if one.database not in (None, case.snapshot.server.database):
        return 0.0
    whole = sum(counted.counters.total_ms for counted in case.statements)
    theirs = sum(counted.counters.total_ms for counted in case.statements if one.role in (None, counted.counters.user))
    return theirs / whole if whole else 0.0


PATHOLOGY = Pathology(
    name="setting-overridden-by-role",
    title="a role or database has planner settings that slow it down",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="ALTER ROLE and ALTER DATABASE give every new session of theirs a value that no configuration file "
    "shows. A plan type that was turned off for a test stays off for that role, and whoever looks for the cause with "
    "another role sees other plans.",
    threshold="A plan type turned off, a cost 20 times off its default, or forced generic plans; work_mem, timeouts "
    "and the like are set by role on purpose. A warning if their statements take 10 % of the time.",
    references=(
        "https://www.postgresql.org/docs/current/sql-alterrole.html",
        "https://www.postgresql.org/docs/current/catalog-pg-db-role-setting.html",
    ),
    detect=_detect,
    explains=("missing-index", "statement-dominates", "reads-many-buffers-per-row", "generic-plan-wrong"),
    needs=("role_settings",),
    proof=ProofOn.TWIN,
)
