"""Treatments are tested before anybody gives them: on a twin of the database, or by the study of the pathology.

Answers come in the order of their cost. By plans: those of the statements on the twin's rows join the case, since texts
and counters only guess, and every treatment of every finding is tried there inside a transaction. By blocks of trials:
those that save most first, then all cures together. Whatever the budget leaves no time for says so.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.examine import examine
from pgclinic.checkup.measured_claims import Measured, with_claims
from pgclinic.checkup.pathology import Pathology, ProofOn
from pgclinic.checkup.prove.proof_by_study import proof_by_study
from pgclinic.checkup.prove.proof_on_twin import Asked, by_plans, proof_on_twin
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest
from pgclinic.checkup.prove.proving_twin import ProvingTwin, change_trial, proving_twin
from pgclinic.checkup.prove.rewrites import left_open, rewrites, with_check
from pgclinic.checkup.prove.shared_level import with_shared_level
from pgclinic.checkup.prove.twin_change import twin_changes
from pgclinic.errors import PgclinicError
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Cure, CureStep, Finding, Proof, Severity
from pgclinic.model.plan_proof import PlanProof, PlanWord
from pgclinic.model.rewrite import OpenBecause
from pgclinic.pg.session import Access
from pgclinic.whatif.change_trial import ChangeTrial
from pgclinic.whatif.trials_in_time import TimeLeft, needed_s
from pgclinic.whatif.twin_change import TwinChange, together

#: A warning that stays undecided would else take all the time there is, and nine notices would get none.
NOTICE_WEIGHT = 0.5
#: Values for statements that no finding names are looked for in this part of the budget, and no longer than this.
_VALUES_SHARE, _VALUES_S_MAX = 0.1, 15.0
#: What a check of the twin takes: its workload runs for a part of what is left, and servers start and stop.
_CHECK_SHARE, _CHECK_S_MIN, _CHECK_BESIDE_S = 0.05, 2.0, 12.0
#: Values for the other statements are looked for in this part of what is left then.
_REST_SHARE, _REST_S_MAX = 0.03, 5.0
#: By so much the plans, which are cheap, may overrun the budget.
_GRACE_S = 7.0
_ALL_CURES = "all-cures"
#: A twin is also made for what its plans may show, where findings account for less of the time than this; statements
#: with less of it than the second are not looked at for that.
_EXPLAINED_MIN, _SHARE_MIN = 0.5, 0.05


def prove(
    checkup: Checkup,
    case: Case,
    access: Access | None,
    request: ProofRequest,
    listener: ProofListener | None = None,
    known: Mapping[str, Pathology] | None = None,
) -> Checkup:
    """The same checkup with proofs in its findings, and with the fidelity of the twin.

    ``access`` is the live server, of which a twin is captured; it is None where the checkup is of a stored snapshot.
    What fails is a proof without a verdict that says why. After Ctrl-C ``listener.on_checkup`` has all that had ended.
    """
    prover = _Prover(checkup, case, access, request, listener or ProofListener(), known or catalog())
    return prover.run()


@dataclass
class _OnTwin:
    """A finding whose treatments are tried on the twin; ``plans`` are by number of the treatment.

    ``rest`` is what plans say of the best one for the statements whose values were found later.
    """

    finding: Finding
    changes: Sequence[TwinChange]
    plans: dict[int, PlanProof | None] = field(default_factory=dict)
    rest: PlanProof | None = None

    @property
    def best(self) -> TwinChange:
        """The treatment that saves most by plans; of equal ones the first, which cures before it prevents."""
        return min(self.changes, key=lambda one: self._ratio(one.treatment))

    @property
    def saved_share(self) -> float:
        return 1.0 - self._ratio(self.best.treatment)

    @property
    def wants_blocks(self) -> bool:
        """Plans know what an index is good for. A setting may work by what no plan shows."""
        seen = self.plans.get(self.best.treatment)
        if seen is None or seen.word is PlanWord.CURED:
            return True
        return not self.best.creates_index and seen.word is not PlanWord.WORSE

    @property
    def is_last(self) -> bool:
        """An index that goes saves what writes spend on it. Its blocks have the time that nobody else needs, for plans
        show that nothing else becomes faster."""
        return self.best.only_drops_indexes and not self.is_cured

    @property
    def is_cured(self) -> bool:
        seen = self.plans.get(self.best.treatment)
        return seen is not None and seen.word is PlanWord.CURED

    def _ratio(self, treatment: int) -> float:
        seen = self.plans.get(treatment)
        return seen.ratio if seen is not None else 1.0


class _Prover:
    """By plans all findings at once, then by blocks one after the other; the twin is captured when it is needed."""

    def __init__(
        self,
        checkup: Checkup,
        case: Case,
        access: Access | None,
        request: ProofRequest,
        listener: ProofListener,
        known: Mapping[str, Pathology],
    ) -> None:
        self._checkup = replace(checkup, budget_s=request.budget_s)
        self._case = case
        self._access = access
        self._request = request
        self._listener = listener
        self._known = known
        self._left = TimeLeft(request.budget_s, request.began_s)
        self._proving: ProvingTwin | None = None
        self._on_twin: dict[str, _OnTwin] = {}
        self._rest_of_cure: PlanProof | None = None
        self._current: Finding | None = None

    def run(self) -> Checkup:
        try:
            self._by_plans()
            self._by_blocks(in_order(self._checkup.findings, self._known))
        except KeyboardInterrupt:
            if self._current is not None:
                found = next(finding for finding in self._checkup.findings if finding.key == self._current.key)
                self._keep(found, (*found.proofs, _none("interrupted")))
            raise
        return self._checkup

    # By plans

    def _by_plans(self) -> None:
        """Every treatment that a twin can judge, of all findings."""
        self._take_up()
        if not self._on_twin and not self._is_unexplained and not any(rewrites(self._checkup.findings)):
            return
        try:
            self._proving = self._built()
            self._try_all(self._proving)
        except PgclinicError as error:
            self._without_twin(f"no twin: {error.message}")
        except OSError as error:
            self._without_twin(f"no twin: {error.strerror}")

    def _take_up(self) -> None:
        """The findings whose treatments a twin can judge, each with its changes; the others say that it cannot."""
        for one in in_order(self._checkup.findings, self._known):
            if self._is_by_study(one):
                continue
            changes = twin_changes(self._case, one)
            if changes:
                self._on_twin[one.key] = _OnTwin(one, changes)
            elif not one.proofs:
                self._keep(one, (_none("none of its treatments is one that a twin can judge"),))

    @property
    def _is_unexplained(self) -> bool:
        """Whether plans on a twin are wanted for what they may find: nothing accounts for most of the time."""
        checkup = self._checkup
        is_busy = self._access is not None and bool(checkup.active_sessions) and bool(self._query_shares())
        return is_busy and (checkup.explained_share or 0.0) < _EXPLAINED_MIN

    def _query_shares(self) -> Mapping[int, float]:
        """Statements whose texts are known, with their share of the time."""
        shares = {
            statement.query_id: self._case.statement_share(statement.query_id) for statement in self._case.statements
        }
        return {key: share for key, share in shares.items() if share >= _SHARE_MIN}

    def _find_by_plans(self, trial: ChangeTrial) -> None:
        """The statements' plans on the twin join the case, and what only they show joins the findings."""
        plans = trial.plans(lambda: self._left.overrun_s > _GRACE_S)
        snapshot, before = self._case.snapshot, self._examined()
        seen = {plan.query_id for plan in plans}
        others = tuple(plan for plan in snapshot.plans if plan.query_id not in seen)
        self._case = dataclass_replace(self._case, snapshot=replace(snapshot, plans=(*others, *plans)))
        merged = with_plans(self._checkup, before, self._examined())
        if merged == self._checkup:
            return
        fresh = {finding.key for finding in merged.findings} - {finding.key for finding in self._checkup.findings}
        self._checkup = merged
        self._on_twin.clear()
        self._take_up()
        self._listener.on_checkup(self._checkup)
        for finding in merged.findings:
            if finding.key in fresh:
                self._listener.on_finding(finding)

    def _examined(self, measured: Measured | None = None) -> Checkup:
        """The case as it is, for the pathologies that are asked for; with ``measured`` what plans say of treatments."""
        found = examine(self._case, server=self._checkup.server, measured=measured)
        return replace(found, findings=tuple(finding for finding in found.findings if finding.pathology in self._known))

    def _built(self) -> ProvingTwin | None:
        if self._access is None:
            self._without_twin("a twin needs the live server, and this checkup is of a stored snapshot")
            return None
        return proving_twin(self._case, self._access, self._request, self._query_ids(), self._listener.on_stage)

    def _without_twin(self, reason: str) -> None:
        """What had been proven by plans stays, without blocks."""
        self._checkup = left_open(self._checkup, OpenBecause.NO_TWIN, reason)
        for tried in self._on_twin.values():
            found = self._finding(tried.finding.key)
            made = [replace(proof, reason=proof.reason or reason) for proof in found.proofs]
            self._keep(found, made or (_none(reason),))
        self._on_twin.clear()

    def _try_all(self, proving: ProvingTwin | None) -> None:
        if proving is None:
            return
        until_s = time.monotonic() + min(_VALUES_S_MAX, _VALUES_SHARE * self._request.budget_s)
        self._listener.on_stage("finding values for the statements")
        named = self._query_ids() | self._query_shares().keys()
        with change_trial(proving, self._case, named, lambda: time.monotonic() > until_s) as trial:
            self._listener.on_stage("plans of the statements on the twin")
            self._find_by_plans(trial)
            self._check_rewrites(trial)
            for tried in list(self._on_twin.values()):
                self._listener.on_stage(f"{tried.finding.pathology}: plans and buffers on the twin")
                tried.plans = {change.treatment: self._tried(trial, change) for change in tried.changes}
                made = [by_plans(change, tried.plans[change.treatment], proving) for change in tried.changes]
                self._keep(tried.finding, made)
                first = next((proof for proof in made if proof.treatment == tried.best.treatment), made[0])
                self._listener.on_proof(tried.finding, first)
            self._try_together(trial, proving)
        self._case = dataclass_replace(self._case, meanwhile=proving.meanwhile)
        self._claim_what_was_measured(proving.wanted.scale)

    def _claim_what_was_measured(self, scale: float) -> None:
        """What findings say that their cures save is from now on what plans have shown."""
        best = {key: one.plans.get(one.best.treatment) for key, one in self._on_twin.items()}
        measured = Measured(
            best={key: proof for key, proof in best.items() if proof is not None},
            together=self._checkup.cure.proof.plans if self._checkup.cure is not None else None,
            scale=scale,
        )
        if measured.best:
            self._checkup = with_claims(self._checkup, self._examined(measured))
            self._listener.on_checkup(self._checkup)

    def _check_rewrites(self, trial: ChangeTrial) -> None:
        """What treatments make of the application's statements, against the originals."""
        waiting = list(rewrites(self._checkup.findings))
        for finding, rewrite in waiting:
            self._listener.on_stage(f"{finding.pathology}: rows of both statements on the twin")
            check = trial.page(rewrite.query_id, rewrite.unique, lambda: self._left.overrun_s > _GRACE_S)
            self._checkup = with_check(self._checkup, self._case, finding, rewrite, check)
            self._listener.on_checkup(self._checkup)
        if waiting:
            # A treatment that was dropped leaves its number to the one behind it.
            self._on_twin.clear()
            self._take_up()

    def _tried(self, trial: ChangeTrial, change: TwinChange) -> PlanProof | None:
        """None where the change cannot be made inside a transaction, as that of a setting that needs a restart."""
        with suppress(PgclinicError):
            return trial.tried(change, lambda: self._left.overrun_s > _GRACE_S)
        return None

    def _try_together(self, trial: ChangeTrial, proving: ProvingTwin) -> None:
        cures = [tried for tried in self._on_twin.values() if tried.is_cured]
        if len(cures) < 2:
            return
        steps = tuple(CureStep(finding=tried.finding.key, treatment=tried.best.treatment) for tried in cures)
        change = self._together(steps)
        cure = Cure(steps=steps, proof=by_plans(change, self._tried(trial, change), proving))
        self._checkup = replace(self._checkup, cure=cure)
        self._listener.on_checkup(self._checkup)

    # By blocks

    def _by_blocks(self, findings: Sequence[Finding]) -> None:
        """The treatments that save most first; what is over before its time leaves the rest of it to the next."""
        cure = self._checkup.cure
        wanted = sorted(
            (finding for finding in findings if self._is_by_study(finding) or self._wants_blocks(finding)),
            key=lambda one: -self._saving(one),
        )
        waiting = in_turns(wanted, {step.finding for step in cure.steps} if cure is not None else ())
        last = {key for key, tried in self._on_twin.items() if tried.is_last}
        while waiting:
            one = waiting.pop(0)
            share_of = sharing(one, waiting, last)
            if one is None:
                self._current = None
                if cure is not None:
                    with suppress(PgclinicError):
                        self._cure_by_blocks(cure, share_of)
                continue
            self._current = self._finding(one.key)
            try:
                self._prove_by_blocks(self._current, share_of)
            except PgclinicError as error:
                self._give_up(self._current, error.message)
        self._current = None
        # Each word has an interval of its own, and all of them are looked at together.
        self._checkup = replace(self._checkup, findings=with_shared_level(self._checkup.findings))

    def _prove_by_blocks(self, finding: Finding, share_of: float) -> None:
        if self._is_by_study(finding):
            pathology = self._known[finding.pathology]
            share_s = self._share_s(share_of)
            if self._has_time(share_s):
                self._listener.on_blocks(finding)
                proof = proof_by_study(self._case, pathology, share_s, self._request, self._listener)
                self._keep(finding, (proof,))
                self._listener.on_proof(finding, proof)
            else:
                self._not_reached(finding)
            return
        one = self._on_twin[finding.key]
        proving = self._checked()
        share_s = self._share_s(share_of)
        if proving is None or not self._has_time(share_s):
            self._not_reached(finding)
            return
        self._listener.on_blocks(finding)
        asked = Asked(finding.pathology, one.best, share_s, one.plans.get(one.best.treatment), one.rest)
        proof = proof_on_twin(proving, asked, self._request, self._listener)
        others = [known for known in finding.proofs if known.treatment != proof.treatment]
        self._keep(finding, (proof, *others))
        self._listener.on_proof(finding, proof)

    def _cure_by_blocks(self, cure: Cure, share_of: float) -> None:
        proving, share_s = self._checked(), self._share_s(share_of)
        if proving is None or not self._has_time(share_s):
            self._checkup = replace(self._checkup, not_reached=(*self._checkup.not_reached, _ALL_CURES))
        else:
            self._listener.on_blocks(None)
            asked = Asked(_ALL_CURES, self._together(cure.steps), share_s, cure.proof.plans, self._rest_of_cure)
            proof = proof_on_twin(proving, asked, self._request, self._listener)
            self._checkup = replace(self._checkup, cure=replace(cure, proof=proof))
        self._listener.on_checkup(self._checkup)

    def _checked(self) -> ProvingTwin | None:
        """The twin with the workload for blocks, which is made once; None where there is no time for it and blocks.

        Raises PgclinicError.
        """
        proving = self._proving
        if proving is None or proving.on is not None:
            return proving
        least_s = _CHECK_S_MIN + _CHECK_BESIDE_S + needed_s(self._request.warm_up_s)
        if self._request.trials is None and self._left.seconds < least_s:
            return None
        check_s = min(self._request.check_s, max(_CHECK_S_MIN, _CHECK_SHARE * self._left.seconds))
        least_s = check_s + _CHECK_BESIDE_S + needed_s(self._request.warm_up_s)
        is_open = self._request.trials is not None
        tried = frozenset(proving.known)
        proving.check(
            self._request, check_s, self._listener.on_stage, lambda: not is_open and self._left.seconds < least_s
        )
        with suppress(PgclinicError):
            self._try_the_rest(proving, tried)
        return proving

    def _try_the_rest(self, proving: ProvingTwin, tried: Collection[int]) -> None:
        """The treatments that blocks will judge, on all statements but those ``tried``: most of these run too seldom
        for a block, and what one execution of each shows bounds what blocks leave open."""
        until_s = time.monotonic() + min(_REST_S_MAX, _REST_SHARE * self._left.seconds)
        self._listener.on_stage("plans of the other statements on the twin")
        with change_trial(proving, self._case, (), lambda: time.monotonic() > until_s, tried) as trial:
            for one in self._on_twin.values():
                if one.wants_blocks:
                    one.rest = self._tried(trial, one.best)
            if self._checkup.cure is not None:
                self._rest_of_cure = self._tried(trial, self._together(self._checkup.cure.steps))

    def _together(self, steps: Sequence[CureStep]) -> TwinChange:
        return together(tuple(self._on_twin[step.finding].best for step in steps), "all cures together")

    def _has_time(self, share_s: float) -> bool:
        return self._request.trials is not None or share_s >= needed_s(self._request.warm_up_s)

    def _share_s(self, share_of: float) -> float:
        """An equal part of what is left, but never less than a proof needs while that is there."""
        left_s = self._left.seconds
        return min(left_s, max(left_s / share_of, needed_s(self._request.warm_up_s)))

    def _not_reached(self, finding: Finding) -> None:
        self._checkup = replace(self._checkup, not_reached=(*self._checkup.not_reached, finding.key))
        self._give_up(finding, f"the budget of {self._request.budget_s:g} s ended before its blocks of trials")

    def _give_up(self, finding: Finding, reason: str) -> None:
        """The proofs by plans stay; the best one says why there are no blocks."""
        best = self._on_twin[finding.key].best.treatment if finding.key in self._on_twin else 0
        made = [replace(proof, reason=reason) if proof.treatment == best else proof for proof in finding.proofs]
        self._keep(finding, made or (_none(reason),))

    # All of it

    def _keep(self, finding: Finding, proofs: Sequence[Proof]) -> None:
        findings = tuple(
            replace(one, proofs=tuple(proofs)) if one.key == finding.key else one for one in self._checkup.findings
        )
        on = self._proving.on if self._proving is not None else None
        fidelity = on.fidelity if on is not None else None
        self._checkup = replace(self._checkup, findings=findings, fidelity=fidelity)
        self._listener.on_checkup(self._checkup)

    def _finding(self, key: str) -> Finding:
        return next(finding for finding in self._checkup.findings if finding.key == key)

    def _is_by_study(self, finding: Finding) -> bool:
        pathology = self._known[finding.pathology]
        return pathology.study is not None and pathology.proof is ProofOn.STUDY

    def _wants_blocks(self, finding: Finding) -> bool:
        one = self._on_twin.get(finding.key)
        return one is not None and one.wants_blocks

    def _saving(self, finding: Finding) -> float:
        one = self._on_twin.get(finding.key)
        return one.saved_share if one is not None else finding.time_share or 0.0

    def _query_ids(self) -> set[int]:
        """The statements that findings to be proven on the twin name, and those that are written anew."""
        on_twin = [
            finding for finding in self._checkup.findings if self._known[finding.pathology].proof is ProofOn.TWIN
        ]
        named = {evidence.query_id for one in on_twin for evidence in one.evidence if evidence.query_id is not None}
        return named | {rewrite.query_id for _, rewrite in rewrites(self._checkup.findings)}


def with_plans(checkup: Checkup, before: Checkup, after: Checkup) -> Checkup:
    """``checkup`` with what plans changed, by an examination of the same case ``before`` them and ``after``.

    Findings that only plans show are added, and those that they change are changed; proofs stay, and so do treatments
    that the examination of the case did not give. What becomes part of another finding goes.
    """
    known, were = ({finding.key: finding for finding in each.findings} for each in (checkup, before))
    findings = []
    for finding in after.findings:
        have = known.get(finding.key)
        if have is None:
            findings += [finding] if finding.key not in were else []
        elif finding == were.get(finding.key):
            findings.append(have)
        else:
            were_given = were[finding.key].treatments if finding.key in were else ()
            more = (given for given in have.treatments if given not in were_given and given not in finding.treatments)
            treatments = (*finding.treatments, *more)
            findings.append(replace(finding, treatments=treatments, proofs=have.proofs, no_proof=have.no_proof))
    keys = {finding.key for finding in findings}
    gone = {key for key, one in were.items() if key not in keys and any(_is_part_of(one, other) for other in findings)}
    if tuple(findings) == checkup.findings:
        return checkup
    return replace(
        checkup,
        health=after.health if len(known) == len(were) else checkup.health,
        findings=(*findings, *(finding for finding in checkup.findings if finding.key not in keys | gone)),
        explained_share=after.explained_share,
        explained_share_by=after.explained_share_by,
        unexplained=after.unexplained,
    )


def _is_part_of(one: Finding, other: Finding) -> bool:
    """Whether the other is of the same pathology and table, and has its statements."""
    if one.pathology != other.pathology or one.tables != other.tables or one.claim is None or other.claim is None:
        return False
    return bool(one.claim.query_ids) and set(one.claim.query_ids) <= set(other.claim.query_ids)


def in_order(findings: Iterable[Finding], known: Mapping[str, Pathology]) -> list[Finding]:
    """The findings whose treatments a lab can judge: causes first, notices last, then by the time they account for."""
    found = [
        finding
        for finding in findings
        if finding.pathology in known and known[finding.pathology].proof is not None and finding.treatments
    ]
    return sorted(
        found,
        key=lambda one: (
            bool(one.explained_by),
            one.severity is Severity.NOTICE,
            -(one.time_share or 0.0),
            -one.severity.rank,
            one.key,
        ),
    )


def in_turns(findings: Sequence[Finding], cured: Collection[str]) -> list[Finding | None]:
    """The same findings, and None for all cures together: behind the findings of these keys, before all others.

    They are what the user will run, and other findings may have no gain at all.
    """
    first = [finding for finding in findings if finding.key in cured]
    return [*first, *([None] if cured else []), *(finding for finding in findings if finding.key not in cured)]


def sharing(finding: Finding | None, waiting: Iterable[Finding | None], last: Collection[str] = ()) -> float:
    """Among how many what is left of the budget is shared. Beside what costs more a notice counts as half of one, and
    those of ``last`` for nothing beside others.

    None is all cures together, which never count as a notice.
    """
    own_is_last = finding is not None and finding.key in last
    shared = [one for one in waiting if own_is_last or one is None or one.key not in last]
    return 1.0 + sum(1.0 if _is_notice(finding) or not _is_notice(one) else NOTICE_WEIGHT for one in shared)


def _is_notice(finding: Finding | None) -> bool:
    return finding is not None and finding.severity is Severity.NOTICE


def _none(reason: str) -> Proof:
    return Proof(treatment=0, word=None, reason=reason)
