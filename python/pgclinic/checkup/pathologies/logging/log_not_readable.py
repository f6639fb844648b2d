"""A log that programs cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Treatment, Unit

#: A handful of odd lines is in every log: other programs write to the same file.
PIECES_MIN = 20
NOT_UNDERSTOOD_SHARE = 0.5
PREFIX = "%m [%p] %q%u@%d %a "


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None or log.not_understood < PIECES_MIN:
        return
    if log.not_understood < NOT_UNDERSTOOD_SHARE * max(log.entries, log.not_understood):
        return
    cures = list(_cures(case))
    yield Seen(
        subject="log",
        severity=Severity.NOTICE,
        confidence=Confidence.LIKELY,
        evidence=(
            log_evidence(
                log,
                Fact(name="entries", value=log.entries, unit=Unit.COUNT),
                Fact(name="pieces not understood", value=log.not_understood, unit=Unit.COUNT),
            ),
            *(setting_evidence(case, name) for name in ("lc_messages", "log_line_prefix") if name in case.settings),
        ),
        treatments=tuple(cures),
    )


def _cures(case: Case) -> Iterator[Treatment]:
    english = case.word("lc_messages") in ("C", "POSIX", "") or (case.word("lc_messages") or "").startswith(
        ("en", "C.")
    )
    if not english:
        yield change_settings(
            case, {"lc_messages": "C"}, title="write messages in English", risk="clients see English messages as well"
        )
    if "%m" not in (case.word("log_line_prefix") or "") or english:
        yield change_settings(
            case,
            {"log_line_prefix": PREFIX},
            title="use one prefix with time, process, role and database from now on",
            risk="programs that read the log by its old prefix",
        )


PATHOLOGY = Pathology(
    name="log-not-readable",
    title="most of the log cannot be understood",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="Messages of the log are not in English, or another log_line_prefix wrote them. Crashes, refused "
    "connections, deadlocks and automatic vacuums in it are not found, by this program and by others.",
    threshold="At least 20 pieces, and half of the log or more. It costs no time, so it is a notice.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-LINE-PREFIX",
        "https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-LC-MESSAGES",
    ),
    detect=_detect,
    needs=("log", "settings"),
    no_proof="it is about what can be seen, and costs no time",
)
