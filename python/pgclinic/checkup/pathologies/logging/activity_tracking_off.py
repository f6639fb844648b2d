"""Sessions do not report what they do."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

_NAME = "track_activities"


def _detect(case: Case) -> Iterator[Seen]:
    if case.word(_NAME) != "off":
        return
    silent = sum(1 for client in case.clients if client.state == "disabled")
    yield Seen(
        subject=_NAME,
        severity=Severity.NOTICE,
        evidence=(setting_evidence(case, _NAME, Fact(name="sessions without a state", value=silent, unit=Unit.COUNT)),),
        treatments=(
            change_settings(
                case, {_NAME: "on"}, title="let sessions report what they do", risk="less than 1 µs for each statement"
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="activity-tracking-off",
    title="sessions do not report what they do",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="With track_activities = off pg_stat_activity has neither states nor statements. Idle transactions, "
    "blocking sessions and long statements cannot be found, and idle_in_transaction time is not counted.",
    threshold="None: it is on by default and nearly free. It costs no time, so it is a notice.",
    references=("https://www.postgresql.org/docs/current/runtime-config-statistics.html#GUC-TRACK-ACTIVITIES",),
    detect=_detect,
    needs=("settings",),
    proof=ProofOn.TWIN,
)
