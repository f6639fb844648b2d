"""data_sync_retry is on: a flush that failed is repeated."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Role, Severity


def _detect(case: Case) -> Iterator[Seen]:
    if not case.is_on("data_sync_retry"):
        return
    yield Seen(
        subject="data_sync_retry",
        severity=Severity.WARNING,
        # Some operating systems keep dirty pages after a failure, and the server cannot know.
        confidence=Confidence.LIKELY,
        evidence=(setting_evidence(case, "data_sync_retry"),),
        treatments=(
            change_settings(
                case,
                {"data_sync_retry": "off"},
                title="recover from the WAL after a failed flush",
                risk="a failed flush ends all sessions, and the server recovers",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="sync-failures-retried",
    title="data_sync_retry is on: a failed flush can lose data",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="After a failed flush Linux and others mark the pages as clean, so that a second flush succeeds without "
    "writing them. With data_sync_retry on the server trusts that success and completes its checkpoint, after which "
    "WAL no longer has the lost changes.",
    threshold="on: with off the server recovers from its WAL, which still has them.",
    references=("https://www.postgresql.org/docs/current/runtime-config-error-handling.html#GUC-DATA-SYNC-RETRY",),
    detect=_detect,
    no_proof="what it risks shows on a disk that fails alone",
)
