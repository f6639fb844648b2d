#!/usr/bin/env python3
"""Treatments that were proven: sick servers, each examined by ``pgclinic checkup --prove`` while clients work on it.

A patient has several illnesses at once, as servers do. What is kept of each proof is its word and its interval, or why
there is none; of each finding that is certain or likely, what it claims to save beside what its proof measured.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from applications import at_work
from claimed_gains import Gain, gains_goal, gains_of, gains_table
from consulted import consult
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.model.checkup import Checkup
from pgclinic.model.load import LoadSpec, Pace, Script
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.load_target import target_of
from pgclinic.pg.session import Access, Session

SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}
TIMEOUT_MS = 120_000


@dataclass(frozen=True)
class Patient:
    """``held`` are sessions that stay open, each with the statements that it has run; ``idle`` so many more do nothing.

    Clients send ``scripts`` at ``rate_tps``, so that the proofs have most of the machine.
    """

    name: str
    budget: str
    settings: Mapping[str, str]
    fill: Sequence[str]
    scripts: Sequence[str]
    rate_tps: float = 100.0
    held: Sequence[Sequence[str]] = ()
    idle: int = 0
    warm_s: float = 15.0
    version: str = "18"


@dataclass(frozen=True)
class Proven:
    """One proof. Without ``word`` there is a ``reason``."""

    patient: str
    pathology: str
    subject: str
    treatment: str
    word: str | None
    plans: str | None
    buffers_ratio: float | None
    ratio: float | None
    low: float | None
    high: float | None
    measure: str | None
    on: str | None
    reason: str | None
    elsewhere: tuple[str, ...] = field(default=())


PEOPLE = (
    "create table team (id numeric primary key, name text not null)",
    "insert into team select n, 'team ' || n from generate_series(1, 500) n",
    "create table person (id int primary key, team_id int not null references team, email text not null, "
    "born date not null, pad text not null)",
    "insert into person select n, 1 + n % 500, 'p' || n || '@example.org', date '1950-01-01' + n % 10000, "
    "repeat('x', 100) from generate_series(1, 20000) n",
    "create index person_born on person (born)",
    "create index person_born_again on person (born)",
    "create index person_team_id on person (team_id)",
    "create index person_team_id_born on person (team_id, born)",
    "create table visit (id bigint generated always as identity primary key, person_id int not null references person, "
    "kind int not null, note text not null)",
    "insert into visit (person_id, kind, note) select 1 + n * 7919 % 20000, n % 40, repeat('y', 60) "
    "from generate_series(1, 40000) n",
    "create index visit_kind on visit (kind)",
    "create index visit_note on visit (note)",
    "vacuum analyze",
)
OF_PEOPLE = (
    "\\set id random(1, 20000)\nselect born, team_id from person where id = :id;\n",
    "\\set id random(1, 20000)\nselect id from person where email = 'p:id@example.org';\n",
    "\\set day random(1, 9000)\nselect id, email from person where born between date '1950-01-01' + :day "
    "and date '1950-01-01' + :day + 300 order by email;\n",
    "\\set id random(1, 20000)\nselect p.born, t.name, o.email from person p join team t on t.id = p.team_id "
    "join person o on o.team_id = p.team_id where p.id = :id;\n",
    "\\set id random(1, 20000)\nbegin;\ninsert into visit (person_id, kind, note) values (:id, :id % 40, 'new');\n"
    "update person set born = born + 1 where id = :id;\nend;\n",
)
PATIENTS = (
    Patient(
        name="plans",
        budget="9m",
        settings={
            "enable_hashjoin": "off",
            "work_mem": "64kB",
            "join_collapse_limit": "1",
            "effective_cache_size": "8MB",
            "wal_consistency_checking": "heap",
            "log_statement": "all",
        },
        fill=PEOPLE,
        scripts=OF_PEOPLE,
        rate_tps=60.0,
    ),
    Patient(
        name="writes",
        budget="6m",
        settings={
            "commit_delay": "20000",
            "commit_siblings": "0",
            "log_statement": "all",
            "max_wal_size": "32MB",
            "min_wal_size": "32MB",
            "checkpoint_timeout": "30s",
            "checkpoint_completion_target": "0.1",
            "wal_level": "logical",
            "bgwriter_lru_maxpages": "0",
            "wal_sync_method": "open_datasync",
            "shared_buffers": "16MB",
        },
        fill=(
            "create table account (id int primary key, balance int not null, seen timestamptz, pad text not null)",
            "insert into account select n, 0, now(), repeat('x', 200) from generate_series(1, 100000) n",
            "create index account_balance on account (balance)",
            "create index account_seen on account (seen)",
            "create table entry (id bigint generated always as identity primary key, account_id int not null, "
            "amount int not null)",
            "vacuum analyze",
        ),
        scripts=(
            "\\set id random(1, 100000)\nbegin;\n"
            "update account set balance = balance + 1, seen = now() where id = :id;\n"
            "insert into entry (account_id, amount) values (:id, 1);\nend;\n",
            "\\set id random(1, 100000)\nselect balance from account where id = :id;\n",
        ),
        rate_tps=400.0,
        warm_s=40.0,
    ),
    Patient(
        name="holds",
        budget="5m",
        settings={"max_prepared_transactions": "5", "wal_buffers": "32kB", "shared_buffers": "16MB"},
        fill=(
            "create table counter (id int primary key, v int not null) with (autovacuum_enabled = off)",
            "insert into counter select n, 0 from generate_series(1, 100) n",
            "create table stock (id int primary key, v int not null, pad text not null)",
            "insert into stock select n, 0, repeat('x', 300) from generate_series(1, 200000) n",
            "vacuum analyze",
        ),
        scripts=(
            "\\set id random(1, 100)\nupdate counter set v = v + 1 where id = :id;\n",
            "\\set id random(1, 200000)\nselect v from stock where id = :id;\n",
        ),
        rate_tps=1500.0,
        held=(
            ("begin isolation level repeatable read", "select count(*) from counter"),
            ("begin", "update stock set v = 1 where id = 7", "prepare transaction 'forgotten'"),
        ),
        idle=150,
        warm_s=20.0,
    ),
)


@contextmanager
def sick(patient: Patient) -> Iterator[Access]:
    """The patient's server with its clients at work."""
    binaries = find_source(patient.version).ensure()
    settings = {"max_connections": "300", **SETTINGS, **patient.settings}
    with start_server(binaries, settings=settings) as running, ExitStack() as stack:
        access = Access(running.server)
        with _session(access, "fill") as session:
            filled = ("create extension pg_stat_statements", *patient.fill, "select pg_stat_statements_reset()")
            for statement in filled:
                session.execute(statement)
        for statements in patient.held:
            session = stack.enter_context(_session(access, "report"))
            for statement in statements:
                session.execute(statement)
        if patient.idle:
            stack.enter_context(_named_idle(access, patient.idle))
        stack.enter_context(at_work(_load(access, patient)))
        time.sleep(patient.warm_s)
        yield access


def _session(access: Access, name: str) -> Session:
    return Session(access, statement_timeout_ms=TIMEOUT_MS, application_name=name, users_search_path=True)


@contextmanager
def _named_idle(access: Access, count: int) -> Iterator[None]:
    """Sessions of an application, which a checkup does not take for ours."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(_session(access, "pool"))
        yield


def _load(access: Access, patient: Patient) -> LoadSpec:
    return LoadSpec(
        target=target_of(access, application_name="app"),
        scripts=tuple(Script(name=f"script {n}", text=text) for n, text in enumerate(patient.scripts, start=1)),
        clients=8,
        pace=Pace(rate_tps=patient.rate_tps),
        measure_s=3600.0,
    )


def examined(patient: Patient, folder: Path) -> Checkup:
    """Its checkup with proofs, by the command."""
    with sick(patient) as access:
        return consult(dsn_of(access.server), patient.budget, folder).checkup


def proofs_of(patient: Patient, found: Checkup) -> list[Proven]:
    """All proofs of one patient, as the command prints them."""
    return [
        Proven(
            patient=patient.name,
            pathology=finding.pathology,
            subject=finding.subject,
            treatment=finding.treatments[proof.treatment].title if finding.treatments else "",
            word=proof.word,
            plans=proof.plans.word.value if proof.plans is not None else None,
            buffers_ratio=proof.plans.ratio if proof.plans is not None else None,
            ratio=proof.ratio,
            low=proof.low,
            high=proof.high,
            measure=proof.measure,
            on=proof.on,
            reason=proof.reason,
            elsewhere=tuple(f"{fact.name} {fact.value}" for fact in proof.elsewhere),
        )
        for finding in found.findings
        for proof in finding.proofs
    ]


def table(proven: Sequence[Proven]) -> str:
    """What BENCHMARKS shows."""
    lines = ["| patient | finding | treatment | proof | treated / as it is, 95 % CI |", "|---|---|---|---|---|"]
    for one in proven:
        if one.ratio is None:
            figures = one.reason or ""
        else:
            low, high = (f"{edge:.2f}" if edge is not None else "open" for edge in (one.low, one.high))
            figures = f"{one.ratio:.2f} ({low} to {high})" + (f" in {one.measure}" if one.measure != "tps" else "")
        lines.append(f"| {one.patient} | {one.pathology} | {one.treatment} | {one.word or 'none'} | {figures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patients", nargs="*", metavar="PATIENT", help=", ".join(one.name for one in PATIENTS))
    parser.add_argument("--budget", help="for each patient, in place of its own")
    parser.add_argument("--out", type=Path, default=Path("checkup-proofs.json"))
    options = parser.parse_args()
    proven, gains = list[Proven](), list[Gain]()
    for patient in PATIENTS:
        if options.patients and patient.name not in options.patients:
            continue
        chosen = patient if options.budget is None else Patient(**{**vars(patient), "budget": options.budget})
        with tempfile.TemporaryDirectory() as folder:
            found = examined(chosen, Path(folder))
        proven += proofs_of(chosen, found)
        gains += gains_of(chosen.name, found)
        kept = {"proofs": [asdict(one) for one in proven], "gains": msgspec.to_builtins(gains)}
        options.out.write_text(json.dumps(kept, indent=1) + "\n")
        options.out.with_suffix(".md").write_text(f"{table(proven)}\n{gains_table(gains)}")
    findings = {(one.patient, one.pathology, one.subject) for one in proven if one.word is not None}
    print(f"{table(proven)}\n{gains_table(gains)}")
    print(f"{len(findings)} findings have a proof with a verdict")
    print(gains_goal(gains))


if __name__ == "__main__":
    main()
