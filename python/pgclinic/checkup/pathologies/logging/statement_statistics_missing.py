"""Nothing counts what statements cost."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment

_EXTENSION = "pg_stat_statements"
_TRACK = f"{_EXTENSION}.track"


def _detect(case: Case) -> Iterator[Seen]:
    created = any(extension.name == _EXTENSION for extension in case.snapshot.extensions)
    preloaded = case.word("shared_preload_libraries")
    loaded = _TRACK in case.settings or (preloaded is not None and _EXTENSION in _libraries(preloaded))
    if preloaded is None and not loaded:
        # This role may not see what is loaded.
        return
    if created and loaded and case.word(_TRACK) != "none":
        return
    create = Treatment(
        title="create the extension in this database",
        applies=Applies.STATEMENT,
        sql=(f"create extension {_EXTENSION}",),
        undo=(f"drop extension {_EXTENSION}",),
        lock="none on tables of users",
        risk="none",
    )
    treatments: list[Treatment] = [] if created else [create]
    if not loaded:
        libraries = ",".join((*_libraries(preloaded or ""), _EXTENSION))
        treatments.insert(0, _load(case, libraries))
    elif case.word(_TRACK) == "none":
        risk = "under 1 % of the CPU for most loads"
        treatments.insert(0, change_settings(case, {_TRACK: "top"}, title="count statements", risk=risk))
    yield Seen(
        subject=_EXTENSION,
        severity=Severity.NOTICE,
        evidence=(
            Evidence(
                kind=SubjectKind.EXTENSION,
                name=_EXTENSION,
                facts=(
                    Fact(name="loaded", value="yes" if loaded else "no"),
                    Fact(name="created in this database", value="yes" if created else "no"),
                ),
            ),
            setting_evidence(case, "shared_preload_libraries"),
            *((setting_evidence(case, _TRACK),) if _TRACK in case.settings else ()),
        ),
        treatments=tuple(treatments),
    )


def _load(case: Case, libraries: str) -> Treatment:
    return change_settings(
        case,
        {"shared_preload_libraries": libraries},
        title="load the module when the server starts",
        risk="a restart; then under 1 % of the CPU for most loads",
    )


def _libraries(value: str) -> list[str]:
    return [one.strip().strip('"') for one in value.split(",") if one.strip()]


PATHOLOGY = Pathology(
    name="statement-statistics-missing",
    title="statements are not counted",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="Without pg_stat_statements nothing says which statements take the time, how often they run, and what "
    "they read and write. A checkup sees only what runs at the moment.",
    threshold="None: the module must be loaded, created in this database and counting. It costs no time, so it is a "
    "notice.",
    references=("https://www.postgresql.org/docs/current/pgstatstatements.html",),
    detect=_detect,
    needs=("extensions",),
    no_proof="it is about what can be seen, and costs no time that a lab could measure",
)
