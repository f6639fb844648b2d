"""What each tool does: arguments in, an answer out. Knows nothing of the protocol."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.errors import PgclinicError, UnknownNameError, UsageError
from pgclinic.mcp_server.kept import kept_run, listed_runs, refuse_path, refuse_unbounded, run_names
from pgclinic.mcp_server.started import StartedCheckup, StartedCheckups
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.doubt import Doubt
from pgclinic.model.finding import Finding, Severity
from pgclinic.model.output import RunOutput
from pgclinic.model.tool_answer import (
    PAGE_CHARS,
    CheckupAsked,
    ClaimLine,
    DoubtLine,
    EvidenceLine,
    FindingLine,
    FindingsAnswer,
    FindingsAsked,
    FindingsRead,
    ProgressAnswer,
    ProgressRead,
    ReportAnswer,
    ReportAsked,
    RunAsked,
    RunLine,
    RunsAnswer,
    RunsAsked,
    TreatmentLine,
    VerdictAnswer,
    VerdictRead,
)
from pgclinic.model.verdict import Interval, Verdict
from pgclinic.report.kept_run import judged_run, rendered_run
from pgclinic.report.runs.filter import RunFilter
from pgclinic.report.runs.list import run_output
from pgclinic.report.words.checkup_lines import short_proof
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.facts import fact_words
from pgclinic.report.words.findings import headline, short_costs
from pgclinic.serve.follow import FollowedRun
from pgclinic.store.run_list import FoundRun

FORMS = ("markdown", "json")
#: A statement of some pages says no more to who reads it than its beginning does.
TEXT_CHARS = 2_000
FINDINGS_MAX, EVIDENCE_MAX = 100, 10
_ALLOWED_BY = "start the server again as: pgclinic mcp --allow-run"


@dataclass(frozen=True)
class Tools:
    """The tools over the runs below ``runs``. ``checkups`` is None where none may be started."""

    runs: Path
    age_s: Callable[[str], float]
    checkups: StartedCheckups | None = None

    def list_runs(self, asked: RunsAsked) -> RunsAnswer:
        """Raises UsageError."""
        older_than_s = self.age_s(asked.older_than) if asked.older_than is not None else 0.0
        wanted = RunFilter.asked(asked.kind, asked.answer, name=asked.name, older_than_s=older_than_s)
        found = listed_runs(self.runs, wanted, time.time())
        return RunsAnswer(
            untrusted=tuple(map(_run_line, found[: asked.limit])), left_out=max(0, len(found) - asked.limit)
        )

    def read_findings(self, asked: FindingsAsked) -> FindingsAnswer:
        """Raises UsageError: no such run, or it is no checkup; RunFailedError: it is damaged."""
        least = _severity(asked.severity)
        found = kept_run(self.runs, asked.run)
        checkup = found.answer
        if not isinstance(checkup, Checkup):
            kind = found.info.kind.value if found.info is not None else "damaged run"
            raise UsageError(f"the run {asked.run} has no findings: it is a {kind}", hint="read_verdict has its answer")
        wanted = [finding for finding in checkup.findings if least is None or finding.severity.rank >= least.rank]
        shown = wanted[:FINDINGS_MAX]
        return FindingsAnswer(
            run=asked.run,
            health=checkup.health.value,
            untrusted=FindingsRead(
                server=checkup.server,
                version=checkup.version,
                database=checkup.database,
                findings=tuple(map(_finding_line, shown)),
            ),
            left_out=len(checkup.findings) - len(shown),
        )

    def read_verdict(self, asked: RunAsked) -> VerdictAnswer:
        """Raises as ``read_findings``; a run that is not finished is judged by the trials that it has."""
        found = judged_run(kept_run(self.runs, asked.run))
        output = run_output(found)
        if found.info is None:
            raise UsageError(f"the run {asked.run} cannot be read: {_cut(found.problem or 'it is damaged')}")
        return VerdictAnswer(
            run=asked.run,
            kind=found.info.kind,
            state=output.state,
            answer=output.answer,
            untrusted=VerdictRead(
                name=_cut(found.info.name),
                sentence=_cut(output.sentence) if output.sentence is not None else None,
                server=_cut(found.info.server),
                claims=_claims(found),
                doubts=tuple(_doubt_line(doubt) for doubt in getattr(found.answer, "doubts", ())),
            ),
        )

    def read_report(self, asked: ReportAsked) -> ReportAnswer:
        """Raises as ``read_findings``, and where the run has no answer yet."""
        if asked.form not in FORMS:
            raise UnknownNameError("form of a report", _cut(asked.form), FORMS)
        rendered = rendered_run(kept_run(self.runs, asked.run))
        text = rendered.markdown() if asked.form == "markdown" else _json_text(rendered.json())
        end = asked.offset + PAGE_CHARS
        return ReportAnswer(
            run=asked.run,
            form=asked.form,
            offset=asked.offset,
            total_chars=len(text),
            next_offset=end if end < len(text) else None,
            untrusted=text[asked.offset : end],
        )

    def start_checkup(self, asked: CheckupAsked) -> ProgressAnswer:
        """Raises UsageError: not allowed, or no such service."""
        return self._progress_of(self._allowed().start(asked))

    def stop_checkup(self, asked: RunAsked) -> ProgressAnswer:
        """Raises UsageError: not allowed, or this server has not started it."""
        checkups = self._allowed()
        refuse_path(asked.run)
        one = checkups.named(asked.run)
        if one is None:
            raise UsageError(f"this server has started no checkup {asked.run}", hint="start_checkup gave its name")
        checkups.interrupt(one)
        return self._progress_of(one)

    def follow_run(self, asked: RunAsked) -> ProgressAnswer:
        """Raises UsageError: no such run; RunFailedError: it is damaged."""
        refuse_path(asked.run)
        one = self.checkups.named(asked.run) if self.checkups is not None else None
        if one is not None:
            return self._progress_of(one)
        found = kept_run(self.runs, asked.run)
        state = run_output(found).state.value
        return ProgressAnswer(run=asked.run, state=state, advice=_advice(state), untrusted=_progress_read(found))

    def _allowed(self) -> StartedCheckups:
        if self.checkups is None:
            raise UsageError("this server is read-only: it starts no checkups", hint=_ALLOWED_BY)
        return self.checkups

    def _progress_of(self, one: StartedCheckup) -> ProgressAnswer:
        """Of a checkup that was started here: it has no folder while it reads its server."""
        code, lines = one.exit_code, tuple(one.lines)
        seen = ProgressRead()
        if one.run in run_names(self.runs):
            refuse_unbounded(self.runs / one.run)
            seen = _progress_read(kept_run(self.runs, one.run))
        state = _state(one, code, has_folder=bool(seen.rows))
        return ProgressAnswer(
            run=one.run,
            state=state,
            advice=_advice(state),
            untrusted=msgspec.structs.replace(seen, messages=lines),
            elapsed_s=round(one.elapsed_s, 1),
            exit_code=code,
        )


def _state(one: StartedCheckup, code: int | None, *, has_folder: bool) -> str:
    if code is None:
        return "running" if has_folder else "starting"
    if one.was_stopped and code != 0:
        return "stopped"
    return "finished" if code == 0 else "failed"


def _advice(state: str) -> str:
    match state:
        case "starting" | "running":
            return "call follow_run again in some seconds"
        case "finished":
            return "read_findings, read_verdict or read_report have the answer"
        case "failed":
            return "the last message says what went wrong"
        case "damaged":
            return "the files of this run cannot be read"
    return "what it has so far stands here and in read_verdict"


def _severity(word: str | None) -> Severity | None:
    if word is None:
        return None
    try:
        return Severity(word.lower())
    except ValueError:
        raise UnknownNameError("severity", _cut(word), [severity.value for severity in Severity]) from None


def _run_line(run: RunOutput) -> RunLine:
    return RunLine(
        run=Path(run.path).name,
        state=run.state,
        kind=run.kind,
        name=_cut(run.name) if run.name is not None else None,
        answer=run.answer,
        sentence=_cut(run.sentence) if run.sentence is not None else None,
        server=_cut(run.server) if run.server is not None else None,
        started_epoch_us=run.started_epoch_us,
        size_bytes=run.size_bytes,
        problem=_cut(run.problem) if run.problem is not None else None,
    )


def _finding_line(finding: Finding) -> FindingLine:
    return FindingLine(
        key=_cut(finding.key),
        severity=finding.severity,
        confidence=finding.confidence,
        headline=_cut(headline(finding)),
        costs=tuple(map(_cut, short_costs(finding))),
        mechanism=_cut(finding.mechanism),
        evidence=tuple(
            EvidenceLine(kind=one.kind, name=_cut(one.name), facts=tuple(_cut(fact_words(fact)) for fact in one.facts))
            for one in finding.evidence[:EVIDENCE_MAX]
        ),
        evidence_left_out=max(0, len(finding.evidence) - EVIDENCE_MAX),
        treatments=tuple(
            TreatmentLine(
                title=_cut(one.title),
                applies=one.applies,
                sql=tuple(map(_cut, one.sql)),
                settings=one.settings,
                lock=one.lock,
                risk=_cut(one.risk),
            )
            for one in finding.treatments
        ),
        proofs=tuple(_cut(short_proof(proof)) for proof in finding.proofs),
        explained_by=tuple(map(_cut, finding.explained_by)),
    )


def _claims(found: FoundRun) -> tuple[ClaimLine, ...]:
    """Of a study its claims, of a comparison what was compared."""
    match found.answer:
        case Verdict() as verdict:
            return tuple(_claim(_cut(claim.claim), claim.word.value, claim.interval) for claim in verdict.claims)
        case Comparison() as compared:
            about = f"{compared.b.about} against {compared.a.about}"
            return (_claim(_cut(about), compared.word.value, compared.interval),)
    return ()


def _claim(claim: str, word: str, interval: Interval | None) -> ClaimLine:
    if interval is None:
        return ClaimLine(claim=claim, word=word)
    low, high = interval.low, interval.high
    bounds = (low, high) if low is not None and high is not None else None
    return ClaimLine(claim=claim, word=word, ratio=interval.ratio, interval=bounds)


def _doubt_line(doubt: Doubt) -> DoubtLine:
    words = doubt_words(doubt)
    return DoubtLine(text=_cut(words.text), advice=_cut(words.advice))


def _progress_read(found: FoundRun) -> ProgressRead:
    """What the events of a run have brought so far."""
    if found.info is None:
        return ProgressRead(rows=(("problem", _cut(found.problem or "it cannot be read")),))
    followed = FollowedRun(found.path, found.info.started_epoch_us, found.info.kind)
    followed.read()
    live = followed.live
    rows = [("kind", found.info.kind.value), ("server", _cut(found.info.server))]
    answer = run_output(found)
    if answer.answer is not None:
        rows.append(("answer so far" if found.is_in_use else "answer", f"{answer.answer}: {answer.sentence}"))
    if found.is_in_use and found.info.kind.value != "checkup":
        rows += live.now_rows(time.time_ns() // 1000)
    return ProgressRead(
        rows=tuple((label, _cut(text)) for label, text in rows),
        claims=tuple(live.claim_rows()),
        proofs=tuple((_cut(key), _cut(proof)) for key, proof in live.proof_rows()[:FINDINGS_MAX]),
    )


def _json_text(record: msgspec.Struct) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n"


def _cut(text: str) -> str:
    """The beginning of a text of somebody else."""
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]} ... ({len(text) - TEXT_CHARS} more characters)"


def error_text(error: PgclinicError) -> str:
    """What a tool says where it has no answer."""
    return error.message + (f"\nhint: {error.hint}" if error.hint else "")
