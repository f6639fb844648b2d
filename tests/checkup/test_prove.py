"""Treatments are proven on twins of real servers: words and directions where the effect is huge, never how fast."""

from __future__ import annotations

import html
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as with_fields
from pathlib import Path
from statistics import median

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest
from pgclinic.checkup.prove.prove import prove
from pgclinic.checkup.role_settings import role_setting_of
from pgclinic.load.engine import Stopper, run_load
from pgclinic.model.checkup import Checkup
from pgclinic.model.doubt import CpuTaken
from pgclinic.model.finding import Applies, Area, Fact, Finding, Proof, Role, Severity, Treatment
from pgclinic.model.load import LoadSpec, Script
from pgclinic.model.plan_proof import PlanWord
from pgclinic.model.verdict import Verdict
from pgclinic.pg.load_target import target_of
from pgclinic.report.kinds import checkup_page
from pgclinic.report.reported import ReportedCheckup
from pgclinic.report.words.findings import doubts_of
from pgclinic.store.run_folder import read_run
from pgclinic.whatif.trials_in_time import Trials

ORDERS = (
    "create table orders (id bigint primary key, customer bigint not null, note text, v int not null default 0)",
    "insert into orders select n, n % 3000, repeat('x', 100) from generate_series(1, 30000) n",
    "vacuum analyze orders",
    "select pg_stat_statements_reset()",
)
BY_CUSTOMER = "\\set c random(0, 2999)\nselect sum(v) from orders where customer = :c;\n"
BY_KEY = "\\set id random(1, 30000)\nselect note from orders where id = :id;\n"
UPDATE = "\\set id random(1, 30000)\nupdate orders set v = v + 1 where id = :id;\n"
SORT = "select count(*) from (select note, v, id from orders order by note, v, id) sorted;\n"
#: Nothing else writes, and no commit waits for the disk: what a treatment changes is all that differs.
QUIET = {"autovacuum": "off", "synchronous_commit": "off"}
#: Why there is no verdict on a machine where others take the CPU: from trials, and from the count of an observation.
NO_VERDICT = ("starved cpu", "the sign is open")
#: Enough for a verdict where the effect is huge, whatever else the machine does.
TRIALS = Trials(1.0, blocks=5)


def pathology(name: str, proof: ProofOn = ProofOn.TWIN, study: str | None = None) -> Pathology:
    return Pathology(
        name=name,
        title=name,
        area=Area.PLANNER,
        role=Role.CAUSE,
        mechanism="",
        threshold="",
        references=(),
        detect=lambda _: (),
        proof=proof,
        study=study,
    )


def checkup_of(case: Case, known: Mapping[str, Pathology], found: Mapping[str, tuple[Treatment, ...]]) -> Checkup:
    """A checkup in which each of these pathologies was found, with these treatments."""
    empty = examine(case, server="patient")
    findings = tuple(
        Finding(
            key=f"{name}:x",
            pathology=name,
            title=name,
            area=known[name].area,
            role=known[name].role,
            subject="x",
            severity=Severity.WARNING,
            confidence=Seen("", Severity.WARNING, ()).confidence,
            mechanism="",
            evidence=(),
            treatments=treatments,
        )
        for name, treatments in found.items()
    )
    return replace(empty, findings=findings)


@contextmanager
def load(sick: Patient, *scripts: str) -> Iterator[Stopper]:
    """Clients that run until they are stopped: trials of a proof should not share the machine with them."""
    stopper = Stopper()
    named = tuple(Script(name=f"script-{number}", text=text) for number, text in enumerate(scripts))
    spec = LoadSpec(target=target_of(sick.access), scripts=named, clients=2, measure_s=300.0)
    thread = threading.Thread(target=run_load, args=(spec,), kwargs={"stopper": stopper})
    thread.start()
    try:
        yield stopper
    finally:
        stopper.stop()
        thread.join()


def found(case: Case, name: str) -> Checkup:
    """A checkup with the findings of one pathology, as they were detected."""
    checkup = examine(case, server="patient")
    these = tuple(finding for finding in checkup.findings if finding.pathology == name)
    assert these, [finding.key for finding in checkup.findings]
    return replace(checkup, findings=these)


def proven(
    sick: Patient,
    running: Stopper,
    folder: Path,
    name: str,
    *,
    more: tuple[Treatment, ...] = (),
    on_checkup: Callable[[Checkup], None] = lambda _: None,
) -> tuple[Checkup, tuple[Proof, ...]]:
    """The proofs of the first finding of a pathology, which gets ``more`` treatments."""
    checkup = found(Case(take_snapshot(sick.access, observe_s=1.0)), name)
    first = checkup.findings[0]
    checkup = replace(checkup, findings=(replace(first, treatments=(*first.treatments, *more)),))
    request = ProofRequest(folder=folder, observe_s=5.0, check_s=4.0, warm_up_s=0.3, trials=TRIALS)

    def on_stage(stage: str) -> None:
        if not stage.startswith("capturing"):
            running.stop()

    listener = ProofListener(on_stage=on_stage, on_checkup=on_checkup)
    done = prove(checkup, Case(take_snapshot(sick.access)), sick.access, request, listener)
    return done, done.findings[0].proofs


def fact_of(proof: Proof, name: str) -> Fact:
    found = [one for one in proof.mechanism if one.name == name]
    assert found, (proof.reason, proof)
    return found[0]


def assert_faster(proof: Proof, least: float) -> None:
    """By the verdict. On a machine whose CPU others take there may be none, and the trials themselves say it."""
    assert proof.run is not None, proof
    if proof.blocks == "faster":
        assert proof.ratio is not None
        assert proof.ratio < 1 / least if proof.measure == "server_time" else proof.ratio > least
        return
    assert proof.blocks == "inconclusive" or (proof.reason or "").startswith(NO_VERDICT), proof
    trials = read_run(Path(proof.run)).trials
    as_it_is, treated = (
        median(trial.load.tps for trial in trials if trial.spec.arm == arm and trial.load) for arm in "ab"
    )
    assert treated > least * as_it_is


@pytest.mark.drawn(0.25)
def test_an_index_is_proven_and_one_that_no_plan_uses_is_not(tmp_path: Path) -> None:
    useless = Treatment(
        title="useless",
        applies=Applies.STATEMENT,
        sql=("create index concurrently useless on public.orders (note)",),
    )
    with patient("18", QUIET) as sick:
        sick.sql(*ORDERS)
        with load(sick, BY_CUSTOMER, BY_KEY, UPDATE) as running:
            sick.until("select sum(seq_scan) > 100 from pg_stat_user_tables")
            checkup, proofs = proven(sick, running, tmp_path, "missing-index", more=(useless,))
    assert checkup.fidelity is not None
    treatments = checkup.findings[0].treatments
    by_index = {treatments[proof.treatment].sql[0].partition(" on ")[2]: proof for proof in proofs}
    refused, index = by_index["public.orders (note)"], by_index["public.orders (customer)"]
    # Updates that are not HOT write it as well.
    assert refused.word in ("no change of plans", "no gain by plans")
    assert refused.run is None
    assert_faster(index, 1.2)
    assert index.run is not None
    # A busy machine may cost a block, which is then run again.
    assert len({trial.spec.block for trial in read_run(Path(index.run)).trials}) == 5
    assert index.plans is not None
    assert index.plans.word is PlanWord.CURED
    assert index.plans.ratio < 0.5
    (changed,) = [statement for statement in index.plans.statements if statement.text.startswith("select sum(v)")]
    assert changed.has_other_plan
    assert changed.buffers is not None
    assert changed.buffers_after is not None
    assert changed.buffers_after < 0.2 * changed.buffers
    assert "Seq Scan" in " ".join(changed.nodes_gone)


@pytest.mark.drawn(0.25)
def test_plans_that_were_switched_off_are_proven(tmp_path: Path) -> None:
    off = {"enable_indexscan": "off", "enable_bitmapscan": "off"}
    kept: list[Checkup] = []
    with patient("17", {**QUIET, **off}) as sick:
        sick.sql(*ORDERS)
        with load(sick, BY_KEY, UPDATE) as running:
            sick.until("select sum(seq_scan) > 100 from pg_stat_user_tables")
            checkup, (proof,) = proven(sick, running, tmp_path, "plan-types-disabled", on_checkup=kept.append)
    assert_faster(proof, 1.5)
    assert "PostgreSQL 17" in proof.on
    assert proof.run is not None
    plan = read_run(Path(proof.run)).plan
    assert plan is not None
    assert (plan.arms["a"].settings["enable_indexscan"], plan.arms["b"].settings["enable_indexscan"]) == ("off", "on")
    # By plans first, then by blocks.
    without_blocks = [one.findings[0].proofs[0].run is None for one in kept]
    assert without_blocks == sorted(without_blocks, reverse=True)
    assert set(without_blocks) == {True, False}
    assert kept[-1] == checkup


@pytest.mark.drawn(0.25)
def test_memory_for_sorts_is_proven_by_the_files_that_go(tmp_path: Path) -> None:
    with patient("18", {**QUIET, "work_mem": "64kB", "max_parallel_workers_per_gather": "0"}) as sick:
        sick.sql(*ORDERS)
        with load(sick, SORT) as running:
            sick.until("select temp_files > 20 from pg_stat_database where datname = current_database()")
            checkup, proofs = proven(sick, running, tmp_path, "work-mem-small")
    # What the memory allows to one role may be more than what it allows to every session, and both are tried.
    proof = next(one for one in proofs if one.run is not None)
    assert proof.blocks is not None or (proof.reason or "").startswith(NO_VERDICT), proof
    assert role_setting_of(checkup.findings[0].treatments[proof.treatment]) is not None
    files = fact_of(proof, "temporary files written by a transaction")
    assert isinstance(files.value, float)
    assert files.value < 0.1
    assert proof.plans is not None
    assert proof.plans.word is PlanWord.CURED


@pytest.mark.drawn(0.25)
def test_indexes_that_nobody_reads_cost_what_updates_write(tmp_path: Path) -> None:
    names = [f"unused_{number}" for number in range(6)]
    with patient("18", QUIET) as sick:
        sick.sql(*ORDERS, *(f"create index {name} on orders (v, note)" for name in names))
        with load(sick, UPDATE) as running:
            sick.until("select sum(n_tup_upd - n_tup_hot_upd) > 1500 from pg_stat_user_tables")
            checkup, (proof,) = proven(sick, running, tmp_path, "unused-indexes")
    # All six go together.
    assert len(checkup.findings[0].treatments) == len(names)
    assert proof.run is not None
    plan = read_run(Path(proof.run)).plan
    assert plan is not None
    changes = getattr(plan.arms["b"].dataset, "changes", "")
    assert all(name in changes for name in names)
    wal = fact_of(proof, "WAL of a transaction")
    assert isinstance(wal.value, float)
    assert wal.value < 0.7


@pytest.mark.drawn(0.2)
def test_a_held_horizon_is_proven_by_its_study(tmp_path: Path) -> None:
    with patient("18", {}) as sick:
        case = Case(take_snapshot(sick.access))
    known = {"held": pathology("held", ProofOn.STUDY, "global-counters")}
    ends = Treatment(title="end it", applies=Applies.STATEMENT, sql=("select pg_terminate_backend(1)",))
    checkup = checkup_of(case, known, {"held": (ends,)})
    request = ProofRequest(folder=tmp_path, warm_up_s=0.5, trials=Trials(3.0, blocks=4))
    (finding,) = prove(checkup, case, None, request, known=known).findings
    (proof,) = finding.proofs
    assert proof.on == "study global-counters, PostgreSQL 18"
    # After three seconds a hold costs buffers, and hardly any throughput yet.
    assert proof.word in ("faster", "no difference", "inconclusive") or (proof.reason or "").startswith(NO_VERDICT), (
        proof
    )
    assert proof.run is not None
    assert len(read_run(Path(proof.run)).trials) == 8
    stored = msgspec.json.decode((Path(proof.run) / "verdict.json").read_bytes(), type=Verdict)
    assert proof.doubts == stored.doubts
    hits = [one.value for one in proof.mechanism if one.name.startswith("buffer hits per update")]
    assert len(hits) == 2
    sick_hits, cured_hits = hits
    assert isinstance(sick_hits, float)
    assert isinstance(cured_hits, float)
    assert sick_hits > 1.2 * cured_hits


@pytest.mark.drawn(0.2)
def test_a_study_beside_other_processes_says_so(tmp_path: Path) -> None:
    """Twice as many as there are CPUs: whether the blocks are refused for it or not, the proof has the doubt."""
    with patient("18", {}) as sick:
        case = Case(take_snapshot(sick.access))
    known = {"held": pathology("held", ProofOn.STUDY, "global-counters")}
    ends = Treatment(title="end it", applies=Applies.STATEMENT, sql=("select pg_terminate_backend(1)",))
    request = ProofRequest(folder=tmp_path, warm_up_s=0.5, trials=Trials(2.0, blocks=2))
    others = [subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        done = prove(checkup_of(case, known, {"held": (ends,)}), case, None, request, known=known)
    finally:
        for other in others:
            other.kill()
            other.wait()
    (proof,) = done.findings[0].proofs
    taken = [doubt for doubt in proof.doubts if isinstance(doubt.facts, CpuTaken)]
    assert taken, proof
    read = msgspec.json.decode(msgspec.json.encode(done), type=Checkup)
    assert read.findings[0].proofs[0].doubts == proof.doubts
    words = next(one for one in doubts_of(proof) if "%" in one)
    assert html.escape(words) in checkup_page(ReportedCheckup(done, case.snapshot))


def test_what_cannot_be_proven_says_why(tmp_path: Path) -> None:
    with patient("18", {}) as sick:
        case = Case(take_snapshot(sick.access))
    known = {name: pathology(name) for name in ("words", "offline", "late")}
    known["late"] = with_fields(known["late"], proof=ProofOn.STUDY, study="global-counters")
    words = Treatment(title="close the transaction", applies=Applies.APPLICATION)
    ends = Treatment(title="end it", applies=Applies.STATEMENT, sql=("select pg_terminate_backend(1)",))
    index = Treatment(title="index", applies=Applies.STATEMENT, sql=("create index on t (x)",))
    checkup = checkup_of(case, known, {"words": (words, ends), "offline": (index,), "late": (ends,)})
    done = prove(checkup, case, None, ProofRequest(folder=tmp_path, budget_s=5.0), known=known)
    reasons = {finding.pathology: finding.proofs[0].reason or "" for finding in done.findings}
    assert reasons["words"] == "none of its treatments is one that a twin can judge"
    assert reasons["offline"] == "a twin needs the live server, and this checkup is of a stored snapshot"
    assert reasons["late"] == "the budget of 5 s ended before its blocks of trials"


def test_an_interrupted_proof_loses_nothing_that_had_ended(tmp_path: Path) -> None:
    with patient("18", {}) as sick:
        case = Case(take_snapshot(sick.access))
    known = {"first": pathology("first"), "second": pathology("second", ProofOn.STUDY, "global-counters")}
    words = Treatment(title="close the transaction", applies=Applies.APPLICATION)
    checkup = checkup_of(case, known, {"first": (words,), "second": (words,)})
    kept: list[Checkup] = []

    def stop(stage: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prove(
            checkup,
            case,
            None,
            ProofRequest(folder=tmp_path, budget_s=600.0),
            ProofListener(on_stage=stop, on_checkup=kept.append),
            known=known,
        )
    reasons = {finding.pathology: [proof.reason for proof in finding.proofs] for finding in kept[-1].findings}
    assert reasons == {"first": ["none of its treatments is one that a twin can judge"], "second": ["interrupted"]}
