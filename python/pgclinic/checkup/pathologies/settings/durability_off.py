"""synchronous_commit is off for the server, a database or a role."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.role_settings import reset_role_setting, role_setting_evidence, role_setting_owner
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: The manual: a commit is flushed after three rounds of the WAL writer at the latest.
ROUNDS = 3.0


def _detect(case: Case) -> Iterator[Seen]:
    delay_s = case.number("wal_writer_delay") or 0.2
    cost = Cost(
        kind=CostKind.COMMITS_LOST_S,
        value=ROUNDS * delay_s,
        basis=(Fact(name="wal_writer_delay", value=delay_s * 1e3, unit=Unit.MILLISECONDS),),
    )
    setting = case.settings.get("synchronous_commit")
    # The session that reads has the value of its role; what the server has is seen of all others.
    if setting is not None and setting.value == "off" and setting.source not in ("user", "database", "database user"):
        yield Seen(
            subject="synchronous_commit",
            severity=Severity.NOTICE,
            evidence=(setting_evidence(case, "synchronous_commit"),),
            cost=cost,
            treatments=(
                change_settings(
                    case,
                    {"synchronous_commit": "on"},
                    title="flush every commit",
                    risk="each commit takes the time of a flush of the WAL",
                ),
            ),
        )
    for one in case.snapshot.role_settings:
        if one.name == "synchronous_commit" and one.value == "off":
            yield Seen(
                subject=f"synchronous_commit of {role_setting_owner(one)}",
                severity=Severity.NOTICE,
                evidence=(role_setting_evidence(one),),
                cost=cost,
                treatments=(
                    reset_role_setting(
                        one, title="flush every commit of theirs", risk="each commit takes the time of a flush"
                    ),
                ),
            )


PATHOLOGY = Pathology(
    name="durability-off",
    title="synchronous_commit is off: a crash loses the last commits",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="With synchronous_commit off a commit returns before its WAL is flushed. A crash of the server loses the "
    "transactions of up to three times wal_writer_delay, whose commits the application has seen succeed; "
    "the database stays consistent.",
    threshold="off for the server, a database or a role. It is a choice, so it is a notice, and what a transaction "
    "sets for itself is not reported.",
    references=(
        "https://www.postgresql.org/docs/current/wal-async-commit.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT",
    ),
    detect=_detect,
    proof=ProofOn.TWIN,
)
