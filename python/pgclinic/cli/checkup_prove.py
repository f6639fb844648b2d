"""``pgclinic checkup --prove``: treatments are tested, and what is finished is kept whatever happens."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.text import Text

from pgclinic.checkup.case import Case
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest
from pgclinic.checkup.prove.prove import prove
from pgclinic.cli.checkup import CheckupRequest
from pgclinic.cli.checkup_read import ReadServer
from pgclinic.cli.compare_end import write_answer
from pgclinic.cli.leftovers import say_cleaned
from pgclinic.cli.live import LiveView
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.road import judge_stored
from pgclinic.fleet.here import Here
from pgclinic.live_export.live_export import exporting
from pgclinic.model.checkup import Checkup
from pgclinic.model.event import ProofReached
from pgclinic.model.finding import Finding, Proof, Severity
from pgclinic.model.progress import Progress
from pgclinic.model.run import RunKind
from pgclinic.model.trial import TrialRecord
from pgclinic.report.live.proofs import ALL_CURES, proof_state_lines
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.report.words.checkup_lines import short_proof
from pgclinic.report.words.findings import headline
from pgclinic.store.checkup_folder import add_proof_event, write_checkup
from pgclinic.store.run_folder import read_run

#: Beside the checkup, in its run folder: the twin, and a run for each proof.
PROOFS = "proofs"


def prove_checkup(
    checkup: Checkup,
    case: Case,
    read: ReadServer,
    folder: Path,
    *,
    budget_s: float,
    began_s: float,
    command: tuple[str, ...],
    request: CheckupRequest,
) -> Checkup:
    """Return the same checkup with proofs in its findings. The folder has each of them as soon as it is finished.

    The budget counts from ``began_s`` of the monotonic clock: when the command began.
    """
    say_cleaned()
    asked = ProofRequest(
        folder=folder / PROOFS,
        command=command,
        budget_s=budget_s,
        began_s=began_s,
        fleet=Here(until_s=began_s + budget_s),
        uses_kept_twin=not request.proofs.new_twin,
        masked_text=masked_text,
    )
    about = {"kind": RunKind.CHECKUP.value, "name": checkup.database}
    with (
        LiveView(sys.stderr, plain=request.plain) as live,
        exporting(request.proofs.export, about, live.say) as export,
    ):
        shown = _ProofsShown(checkup)
        live.beside = shown.lines
        for finding in checkup.causes:
            if finding.severity is not Severity.NOTICE:
                live.say(_line(finding))

        def on_proof(finding: Finding, proof: Proof) -> None:
            shown.proven()
            at_us = time.time_ns() // 1000
            reached = ProofReached(finding=finding.key, proof=proof, at_epoch_us=at_us)
            add_proof_event(folder, reached)
            export.event(reached)
            number = proof.treatment
            about = finding.treatments[number].title if number < len(finding.treatments) else finding.pathology
            live.say(f"{time.monotonic() - began_s:4.0f} s  {' '.join(about.split())}: {short_proof(proof)}")

        def on_checkup(so_far: Checkup) -> None:
            shown.checkup = so_far
            _keep(folder, so_far)

        def on_progress(progress: Progress) -> None:
            shown.progress = progress
            live.progress(progress)

        def on_trial(record: TrialRecord) -> None:
            live.trial(record)
            export.doubts(record.doubts)

        listener = ProofListener(
            on_stage=live.stage,
            on_proof=on_proof,
            on_finding=lambda finding: live.say(f"{_line(finding)} (by plans on the twin)"),
            on_blocks=shown.blocks,
            on_checkup=on_checkup,
            experiment=Listener(
                on_progress=on_progress, on_trial=on_trial, on_event=export.event, on_verdict=live.verdict
            ),
        )
        try:
            return prove(checkup, case, read.access, asked, listener)
        except BaseException:
            live.clear()
            print(f"the checkup and its finished proofs are kept in {folder}", file=sys.stderr)
            raise


class _ProofsShown:
    """The findings with the states of their proofs, as the live view shows them."""

    def __init__(self, checkup: Checkup) -> None:
        self.checkup = checkup
        self.progress: Progress | None = None
        self._in_blocks: str | None = None

    def blocks(self, finding: Finding | None) -> None:
        """The blocks of this finding come next, those of all cures together for None."""
        self._in_blocks = finding.key if finding is not None else ALL_CURES
        self.progress = None

    def proven(self) -> None:
        """The blocks are over: what they say is a proof of the finding."""
        self._in_blocks = None

    def lines(self, columns: int) -> list[Text]:
        """A line for each finding."""
        return proof_state_lines(self.checkup, self._in_blocks, self.progress, columns)


def _line(finding: Finding) -> str:
    return f"{finding.severity.value.upper()}  {headline(finding)}"


def _keep(folder: Path, checkup: Checkup) -> None:
    """Write the checkup, and the page of each proof that has none."""
    write_checkup(folder, checkup)
    proofs = [proof for finding in checkup.findings for proof in finding.proofs]
    for proof in (*proofs, *((checkup.cure.proof,) if checkup.cure is not None else ())):
        if proof.run is None or (Path(proof.run) / "report.html").exists():
            continue
        stored = read_run(Path(proof.run))
        if stored.plan is not None:
            write_answer(stored, stored.plan, judge_stored(stored, stored.plan))
