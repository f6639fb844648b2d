"""Treatments are tested before anybody gives them: on a twin of the database, or by the study of the pathology.

Findings are proven one after the other, those that account for most time first, until the budget is spent. Whatever
gets no proof says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.pathology import Pathology, ProofOn
from pgclinic.checkup.proof_by_study import proof_by_study
from pgclinic.checkup.proof_on_twin import Asked, no_time, not_best, not_worth, proof_on_twin
from pgclinic.checkup.proof_request import ProofListener, ProofRequest, TimeLeft, needed_s
from pgclinic.checkup.proving_twin import ProvingTwin, change_trial, proving_twin
from pgclinic.checkup.tried_on_twin import ChangeTrial, ChangeTried
from pgclinic.checkup.twin_change import TwinChange, twin_changes
from pgclinic.errors import PgclinicError
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Proof, Severity
from pgclinic.pg.session import Access

#: An index that saves less than this share of all blocks is not worth what it costs writes.
SAVED_MIN = 0.02
#: So many treatments of one finding get blocks of trials, the others plans and blocks alone.
TRIALS_MAX = 2
#: A warning that stays undecided would else take all the time there is, and nine notices would get none.
NOTICE_WEIGHT = 0.5


def prove(
    checkup: Checkup,
    case: Case,
    access: Access | None,
    request: ProofRequest,
    listener: ProofListener | None = None,
    known: Mapping[str, Pathology] | None = None,
) -> Checkup:
    """The same checkup with proofs in its findings, and with how alike the twin is to its original.

    ``access`` is the live server, of which a twin is captured; it is None where the checkup is of a stored snapshot.
    What fails is a proof without a verdict that says why. After Ctrl-C ``listener.on_checkup`` has all that had ended.
    """
    prover = _Prover(checkup, case, access, request, listener or ProofListener(), known or catalog())
    return prover.run()


class _Prover:
    """Goes through the findings; the twin is captured when the first of them needs it."""

    def __init__(
        self,
        checkup: Checkup,
        case: Case,
        access: Access | None,
        request: ProofRequest,
        listener: ProofListener,
        known: Mapping[str, Pathology],
    ) -> None:
        self._checkup = checkup
        self._case = case
        self._access = access
        self._request = request
        self._listener = listener
        self._known = known
        self._left = TimeLeft(request.budget_s)
        self._proving: ProvingTwin | None = None
        self._no_twin: str | None = None

    def run(self) -> Checkup:
        waiting = in_order(self._checkup.findings, self._known)
        while waiting:
            one = waiting.pop(0)
            made: list[Proof] = []
            try:
                for proof in self._proofs(one, share_of=sharing(one, waiting)):
                    made.append(proof)
            except KeyboardInterrupt:
                self._keep(one, (*made, _none("interrupted")))
                raise
            except PgclinicError as error:
                made.append(_none(error.message))
            self._keep(one, made)
        return self._checkup

    def _keep(self, finding: Finding, proofs: Sequence[Proof]) -> None:
        findings = tuple(
            replace(one, proofs=tuple(proofs)) if one.key == finding.key else one for one in self._checkup.findings
        )
        fidelity = self._proving.on.fidelity if self._proving is not None else None
        self._checkup = replace(self._checkup, findings=findings, fidelity=fidelity)
        self._listener.on_checkup(self._checkup)

    def _proofs(self, finding: Finding, *, share_of: float) -> Iterator[Proof]:
        pathology = self._known[finding.pathology]
        if pathology.study is not None and pathology.proof is ProofOn.STUDY:
            share_s = self._share_s(share_of)
            yield proof_by_study(self._case, pathology, share_s, self._request, self._listener)
            return
        changes = twin_changes(self._case, finding)
        if not changes:
            yield _none("none of its treatments is one that a twin can judge")
            return
        proving = self._twin()
        if proving is None:
            yield _none(self._no_twin or "")
        else:
            yield from self._on_twin(proving, finding, changes, share_of)

    def _on_twin(
        self, proving: ProvingTwin, finding: Finding, changes: Sequence[TwinChange], share_of: float
    ) -> Iterator[Proof]:
        """Plans and blocks of every treatment that is an index, or of the first one; blocks of trials of the best."""
        wanted = [one for one in changes if one.creates_index and not one.prevents] or list(changes[:1])
        # What checks of foreign keys do is in no plan of a statement.
        of_statements = any(one.query_id is not None for one in finding.evidence)
        self._listener.on_stage(f"{finding.pathology}: plans and blocks on the twin")
        with change_trial(proving) as trial:
            tried = {one.treatment: _tried(trial, one) for one in wanted}
        best = sorted(wanted, key=lambda one: _saved(tried[one.treatment]), reverse=True)
        count = 0
        for one in best:
            seen = tried[one.treatment]
            if of_statements and one.creates_index and seen is not None and not _is_worth(seen):
                yield not_worth(seen, proving)
                continue
            share_s = self._share_s(share_of)
            if count and (count == TRIALS_MAX or share_s < 2 * needed_s(self._request.warm_up_s)):
                yield not_best(seen, proving) if seen is not None else no_time(one, seen, proving)
                continue
            count += 1
            yield proof_on_twin(proving, Asked(finding.pathology, one, share_s, seen), self._request, self._listener)

    def _share_s(self, share_of: float) -> float:
        """An equal part of what is left, but never less than a proof needs while that is there."""
        left_s = self._left.seconds
        return min(left_s, max(left_s / share_of, needed_s(self._request.warm_up_s)))

    def _twin(self) -> ProvingTwin | None:
        if self._proving is None and self._no_twin is None:
            if self._access is None:
                self._no_twin = "a twin needs the live server, and this checkup is of a stored snapshot"
                return None
            try:
                self._proving = proving_twin(
                    self._case, self._access, self._request, self._query_ids(), self._listener.on_stage
                )
            except PgclinicError as error:
                self._no_twin = f"no twin: {error.message}"
            except OSError as error:
                self._no_twin = f"no twin: {error.strerror}"
        return self._proving

    def _query_ids(self) -> set[int]:
        """The statements that findings to be proven on the twin name."""
        on_twin = [one for one in self._checkup.findings if self._known[one.pathology].proof is ProofOn.TWIN]
        return {evidence.query_id for one in on_twin for evidence in one.evidence if evidence.query_id is not None}


def in_order(findings: Iterable[Finding], known: Mapping[str, Pathology]) -> list[Finding]:
    """Those with treatments that a lab can judge: causes first, notices last, then by the time they account for."""
    found = [
        one for one in findings if one.pathology in known and known[one.pathology].proof is not None and one.treatments
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


def sharing(finding: Finding, waiting: Iterable[Finding]) -> float:
    """Among how many what is left of the budget is shared. Beside what costs more a notice counts as half of one."""
    is_notice = finding.severity is Severity.NOTICE
    return 1.0 + sum(1.0 if is_notice or one.severity is not Severity.NOTICE else NOTICE_WEIGHT for one in waiting)


def _tried(trial: ChangeTrial, change: TwinChange) -> ChangeTried | None:
    """None where the change cannot be made inside a transaction, as that of a setting that needs a restart."""
    try:
        return trial.tried(change)
    except PgclinicError:
        return None


def _is_worth(tried: ChangeTried) -> bool:
    return tried.uses_index and tried.saved_share >= SAVED_MIN


def _saved(tried: ChangeTried | None) -> float:
    return tried.saved_share if tried is not None else 0.0


def _none(reason: str) -> Proof:
    return Proof(treatment=0, word=None, reason=reason)
