"""The road of ``advise``: candidates -> each measured on the twin -> a set chosen and measured -> proven in blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from pgclinic.advise.candidates import candidates
from pgclinic.advise.choice import solver
from pgclinic.advise.chosen_set import MeasuredSet, choose_and_measure, steps
from pgclinic.advise.hot_updates import HotUpdates
from pgclinic.advise.measurement import WeighedStatement, ratios_between, served
from pgclinic.advise.needless import NeedlessIndexes, needless_indexes
from pgclinic.advise.proof import LeftOutPart, ProvenSet, proof_of_set, saves_nothing
from pgclinic.advise.tried_candidates import TriedCandidates, try_candidates
from pgclinic.errors import PgclinicError, RunFailedError
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.on_twin import OnTwin
from pgclinic.experiment.servers import ChosenServer
from pgclinic.experiment.twin_check import known_settings
from pgclinic.fleet.here import Fleet, Here
from pgclinic.indexes.definition import create_statement, drop_statement
from pgclinic.model.advise import AdviceLimits, AdviceProof, AdviceWord, AdvisedIndex, IndexAdvice, IndexDefinition
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.plan_proof import PlanProof
from pgclinic.model.twin import Twin
from pgclinic.model.verdict_word import CompareWord
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.trial.server import binaries_of
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.mix import calibrated_in_order
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.change_trial import ChangeTrial
from pgclinic.whatif.explained import explained
from pgclinic.whatif.index_trial import BuiltIndex, IndexTrial, SeenStatement
from pgclinic.whatif.trial_session import trial_session
from pgclinic.whatif.trials_in_time import TimeLeft
from pgclinic.whatif.twin_blocks import BlocksKept
from pgclinic.whatif.twin_change import TwinChange

#: Values for statements that the workload leaves out are looked for in this part of the time that is left.
_VALUES_SHARE = 0.03
#: Candidates are measured until this part of it has passed, sets until the second; blocks have the rest.
_CANDIDATES_SHARE, _SETS_SHARE = 0.5, 0.65
#: Statements that are not executed as they are by then are left out: candidates for the others come first.
_AS_IT_IS_SHARE = 0.25
#: Statements named for each index.
_SERVED_MAX = 8


@dataclass(frozen=True)
class AdviceSubject:
    """The twin, the server that runs it, and its workload with the values of its statements."""

    twin: Twin
    dataset: TwinDataset
    on: OnTwin
    server: ChosenServer


@dataclass(frozen=True)
class AdviceAsked:
    """``runs`` takes the run of the proof; the budget counts from ``began_s`` of the monotonic clock.

    ``command`` is what made it, without secrets. Without ``prove`` nothing runs in blocks.
    """

    limits: AdviceLimits
    budget_s: float
    began_s: float
    runs: Path
    command: tuple[str, ...]
    fleet: Fleet = field(default_factory=Here)
    prove: bool = True


@dataclass(frozen=True)
class AdviceListener:
    """``on_advice`` gets what is known after each stage, so that nothing that is finished can be lost."""

    on_stage: Callable[[str], None] = field(default=lambda _: None)
    on_advice: Callable[[IndexAdvice], None] = field(default=lambda _: None)
    experiment: Listener = field(default_factory=Listener)


@dataclass(frozen=True)
class _Measured:
    """What single executions on the twin say."""

    statements: Mapping[int, WeighedStatement]
    before: Mapping[int, SeenStatement]
    tried: TriedCandidates
    candidates: int
    best: MeasuredSet
    needless: NeedlessIndexes
    proof: PlanProof | None


def advise(subject: AdviceSubject, asked: AdviceAsked, listener: AdviceListener | None = None) -> IndexAdvice:
    """Raises UsageError, RunFailedError."""
    heard = listener or AdviceListener()
    measured = _measured(subject, asked, heard)
    advice = _advice(subject, asked, measured)
    heard.on_advice(advice)
    if advice.indexes and asked.prove:
        heard.on_stage("proving the indexes in blocks")
        advice = with_proof(advice, _proven(subject, asked, advice, measured, heard))
    advice = replace(advice, took_s=time.monotonic() - asked.began_s)
    heard.on_advice(advice)
    return advice


def with_proof(advice: IndexAdvice, proof: AdviceProof) -> IndexAdvice:
    """The advice without the indexes of which the blocks show that they save nothing of their own. Pure."""
    if proof.word == CompareWord.SLOWER.value:
        return replace(advice, proof=proof, word=AdviceWord.CONTRADICTED)
    names = {one.name for one in proof.left_out if saves_nothing(one)}
    withdrawn = [one for one in advice.indexes if one.definition.name in names]
    indexes = tuple(one for one in advice.indexes if one.definition.name not in names)
    return replace(
        advice,
        proof=proof,
        indexes=indexes,
        withdrawn=tuple(one.definition for one in withdrawn),
        saved_share=advice.saved_share - sum(one.saved_share for one in withdrawn),
        word=advice.word if indexes else AdviceWord.NONE,
    )


def _measured(subject: AdviceSubject, asked: AdviceAsked, heard: AdviceListener) -> _Measured:
    binaries, twin = binaries_of(subject.server.spec), subject.twin

    # What building the twin took is not there any more: shares are of what it left.
    here_s = time.monotonic()
    left_s = max(0.0, asked.budget_s - (here_s - asked.began_s))

    def over(share: float) -> bool:
        return time.monotonic() - here_s > share * left_s

    with trial_session(binaries, subject.dataset, known_settings(binaries, twin)) as session:
        heard.on_stage("finding values for the statements")
        source = ValueSource(session, twin)
        statements = _with_values(session, source, subject, here_s + _VALUES_SHARE * left_s)
        trial = IndexTrial(session, statements, source)
        heard.on_stage(f"{len(statements)} statements as they are")
        before, weighed = trial.as_it_is(lambda: over(_AS_IT_IS_SHARE)), _weighed(twin, statements)
        if not before:
            if over(_AS_IT_IS_SHARE):
                raise RunFailedError(
                    f"the budget of {asked.budget_s:g} s ended before a statement was measured", hint="--budget 10m"
                )
            raise RunFailedError("no statement of the twin can run", hint="see the reasons: pgclinic twin check FILE")
        wanted = candidates(twin, statements, _estimated_shares(session, twin), trial.plans())
        tried = try_candidates(
            trial,
            wanted,
            weighed,
            HotUpdates(twin, statements),
            lambda: over(_CANDIDATES_SHARE),
            lambda done: heard.on_stage(f"{done} of {len(wanted)} candidates measured"),
        )
        best = choose_and_measure(
            trial,
            tried,
            weighed,
            asked.limits,
            solver(),
            lambda: over(_SETS_SHARE),
            lambda number: heard.on_stage(f"round {number}: the chosen set measured together"),
        )
        heard.on_stage("existing indexes that could be dropped")
        with trial.built(best.indexes) as built:
            needless = needless_indexes(twin, built, best.indexes, weighed, before)
        proof = _plans_of(session, subject, statements, best.indexes, source) if best.indexes else None
    return _Measured(weighed, before, tried, len(wanted), best, needless, proof)


def _with_values(
    session: Session, source: ValueSource, subject: AdviceSubject, until_s: float
) -> tuple[CalibratedStatement, ...]:
    """Those of the workload, and others that run too seldom for it."""
    checked = subject.on.checked
    known = {one.statement.counted.query_id: one for one in checked.mix.statements} if checked is not None else {}
    found = calibrated_in_order(
        session, source, subject.twin, should_stop=lambda: time.monotonic() > until_s, known=known
    )
    return tuple(found.values())


def _weighed(twin: Twin, statements: tuple[CalibratedStatement, ...]) -> dict[int, WeighedStatement]:
    whole = sum(one.total_ms for one in twin.workload.statements) or 1.0
    counted = [one.statement.counted for one in statements]
    return {
        one.query_id: WeighedStatement(one.query_id, one.text, one.total_ms / whole, float(one.calls))
        for one in counted
    }


def _estimated_shares(session: Session, twin: Twin) -> Callable[[str, str], float | None]:
    """The share of a table's rows that satisfy a condition, as the planner of the twin estimates it."""
    rows = {table.name: table.rows for table in twin.tables}

    def share_of(table: str, predicate: str) -> float | None:
        whole = rows.get(table)
        if not whole:
            return None
        session.execute("begin")
        try:
            plan = explained(session, "format json", f"select from {table} where {predicate}")
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return None
        finally:
            session.execute("rollback")
        return float(plan["Plan Rows"]) / whole

    return share_of


def _plans_of(
    session: Session,
    subject: AdviceSubject,
    statements: tuple[CalibratedStatement, ...],
    indexes: tuple[IndexDefinition, ...],
    source: ValueSource,
) -> PlanProof | None:
    """What the whole set does to each statement, for the bounds of the blocks; None where it cannot be tried."""
    weighed = _weighed(subject.twin, statements)
    shares = {key: one.share for key, one in weighed.items()}
    change = TwinChange(0, "advised", statements=tuple(create_statement(one, concurrently=False) for one in indexes))
    with suppress(PgclinicError):
        return ChangeTrial(session, subject.twin, statements, shares, source).tried(change)
    return None


def _advice(subject: AdviceSubject, asked: AdviceAsked, measured: _Measured) -> IndexAdvice:
    twin, best, tried = subject.twin, measured.best, measured.tried
    built = {one.definition: number for number, one in enumerate(tried.built)}
    indexes = sorted(
        (_advised(tried.built[built[one]], measured) for one in best.indexes), key=lambda one: -one.saved_share
    )
    return IndexAdvice(
        database=twin.database,
        version=twin.version,
        word=AdviceWord.ADVISED if indexes else AdviceWord.NONE,
        saved_share=best.saved,
        chosen_by=solver(),
        limits=asked.limits,
        indexes=tuple(indexes),
        drops=measured.needless.drops,
        idle=measured.needless.idle,
        steps=steps(tried, asked.limits, solver(), len(indexes)) if indexes else (),
        candidates=measured.candidates,
        measured=tried.tried,
        in_plans=len(tried.built),
        statements=len(measured.before),
        tried_share=sum(measured.statements[key].share for key in measured.before),
        left_out=sum(
            StatementKind(one.kind).has_plan and one.query_id not in measured.before for one in twin.workload.statements
        ),
        rounds=best.rounds,
        counted_s=twin.workload.since_s,
        scale=subject.dataset.scale,
        budget_s=asked.budget_s,
        took_s=time.monotonic() - asked.began_s,
    )


def _advised(built: BuiltIndex, measured: _Measured) -> AdvisedIndex:
    definition = built.definition
    return AdvisedIndex(
        definition=definition,
        create=creating(definition),
        undo=drop_statement(definition, concurrently=True),
        saved_share=measured.best.parts[definition],
        size_bytes=built.size_bytes,
        build_s=built.build_s,
        table_bytes=built.table_bytes,
        serves=tuple(served(measured.statements, measured.before, measured.best.after, definition.name))[:_SERVED_MAX],
        cost=measured.tried.costs[measured.tried.number(definition)],
    )


def creating(definition: IndexDefinition) -> tuple[str, ...]:
    """The planner knows nothing of the values of an expression before the table is analyzed."""
    create = create_statement(definition, concurrently=True)
    has_expression = any("(" in key for key in definition.keys)
    return (create, f"analyze {definition.table}") if has_expression else (create,)


def _proven(
    subject: AdviceSubject, asked: AdviceAsked, advice: IndexAdvice, measured: _Measured, heard: AdviceListener
) -> AdviceProof:
    """The whole set in what is left of the budget; indexes with the largest part of their own are left out first."""
    statements = tuple(statement for index in advice.indexes for statement in index.create)
    title = f"{len(advice.indexes)} advised indexes" if len(advice.indexes) > 1 else "1 advised index"
    kept = BlocksKept(asked.runs, asked.command, asked.fleet, heard.experiment, heard.on_stage)
    parts = tuple(
        LeftOutPart(
            one.definition.name,
            tuple(statement for other in advice.indexes if other is not one for statement in other.create),
            ratios_between(measured.best.fewer.get(one.definition, {}), measured.best.after),
        )
        for one in advice.indexes
    )
    left_s = TimeLeft(asked.budget_s, asked.began_s).seconds
    proven = ProvenSet(statements, title, measured.proof, parts)
    return proof_of_set(subject.dataset, subject.on, subject.server, proven, left_s, kept)
