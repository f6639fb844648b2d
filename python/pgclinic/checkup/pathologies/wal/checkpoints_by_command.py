"""Somebody runs CHECKPOINT, or what requests one, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Statement
from pgclinic.checkup.pathologies.wal.checkpoints_forced import DISTANCE_SHARE, REQUESTED_MIN, TIMEOUT_SHARE
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.checkup.wal_history import checkpoints, forced_distance, wal_of_changes, wal_written
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

#: Full-page images of less than this are below what a disk notices.
IMAGE_BYTES_PER_S = 1_000_000


def _detect(case: Case) -> Iterator[Seen]:
    found, written, distance = checkpoints(case), wal_written(case), forced_distance(case)
    timeout_s = case.number("checkpoint_timeout")
    if found is None or written is None or distance is None or timeout_s is None or found.requested < REQUESTED_MIN:
        return
    by_wal = written.bytes / (DISTANCE_SHARE * distance)
    if found.requested - by_wal < REQUESTED_MIN or found.seconds / found.requested > TIMEOUT_SHARE * timeout_s:
        return
    commands = [statement for statement in case.statements if statement.text.lower().startswith("checkpoint")]
    images = wal_of_changes(case) or written
    yield Seen(
        subject="CHECKPOINT",
        severity=Severity.WARNING if images.image_bytes_per_s >= IMAGE_BYTES_PER_S else Severity.NOTICE,
        confidence=Confidence.CERTAIN if commands else Confidence.LIKELY,
        evidence=(
            *(_command(command) for command in commands),
            setting_evidence(case, "checkpoint_timeout", *found.facts, *images.facts[:-1]),
        ),
        cost=Cost(kind=CostKind.WAL_BYTES_PER_S, value=images.image_bytes_per_s, basis=images.facts),
        treatments=(
            Treatment(
                title="leave checkpoints to the server: no CHECKPOINT in jobs and applications, fewer base backups and "
                "databases created from templates",
                applies=Applies.APPLICATION,
                risk="what relied on a recent checkpoint, such as a fast shutdown, takes longer",
            ),
        ),
    )


def _command(one: Statement) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=one.text,
        query_id=one.query_id,
        facts=(
            Fact(name="calls", value=one.counters.calls, unit=Unit.COUNT),
            Fact(name="role", value=one.counters.user),
            Fact(name="total time", value=one.counters.total_ms, unit=Unit.MILLISECONDS),
        ),
    )


PATHOLOGY = Pathology(
    name="checkpoints-by-command",
    title="commands request checkpoints again and again",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="CHECKPOINT, base backups and CREATE DATABASE request a checkpoint that is carried out at full speed. "
    "After each of them the first change of every page writes a full-page image to the WAL.",
    threshold="More than three, less than half of checkpoint_timeout apart: rarer ones at most double the checkpoints "
    "that come by time. A warning from 1 MB/s of full-page images on.",
    references=(
        "https://www.postgresql.org/docs/current/sql-checkpoint.html",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ),
    detect=_detect,
    explains=("full-page-image-storm", "wal-compression-off", "commits-wait-for-sync", "io-pressure"),
    needs=("counters.checkpoints",),
    no_proof="what requests the checkpoints is outside the server, and a twin does not run it",
)
