"""``pgclinic checkup --prove`` run as a user runs it: its answer, how long it took, and when each proof was there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.model.checkup import Checkup
from pgclinic.model.event import ProofReached
from pgclinic.model.output import CheckupOutput

PGCLINIC = Path(sys.executable).parent / "pgclinic"
_EVENTS = msgspec.json.Decoder(ProofReached)
_LOOK_S = 0.2


class ConsultationError(Exception):
    """The command gave no answer; its words are those of stderr."""


@dataclass(frozen=True)
class Consultation:
    """``proofs`` are the events of the run folder, ``began_epoch_s`` is when the command was started."""

    checkup: Checkup
    proofs: tuple[ProofReached, ...]
    began_epoch_s: float
    took_s: float

    def after_s(self, event: ProofReached) -> float:
        """Seconds from the start of the command."""
        return event.at_epoch_us / 1e6 - self.began_epoch_s


def consult(dsn: str, budget: str, folder: Path, on_observed: Callable[[], None] = lambda: None) -> Consultation:
    """Run the command in ``folder``; ``on_observed`` is called when the server has been read. Raises ConsultationError.

    What the command says meanwhile goes to stderr.
    """
    began_epoch_s, began_s = time.time(), time.monotonic()
    answer = folder / "checkup-output.json"
    with answer.open("wb") as stdout:
        words = [PGCLINIC, "checkup", dsn, "--prove", "--budget", budget, "--json"]
        process = subprocess.Popen(words, stdout=stdout, cwd=folder)
        try:
            while process.poll() is None and not any(folder.glob("runs/*-checkup-*/snapshot.json")):
                time.sleep(_LOOK_S)
            on_observed()
            process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    took_s = time.monotonic() - began_s
    if not answer.stat().st_size:
        raise ConsultationError(f"the command ended with {process.returncode} and no answer")
    output = msgspec.json.decode(answer.read_bytes(), type=CheckupOutput)
    return Consultation(output.checkup, _events(folder, output), began_epoch_s, took_s)


def _events(folder: Path, output: CheckupOutput) -> tuple[ProofReached, ...]:
    file = folder / output.run / "events.jsonl" if output.run is not None else None
    if file is None or not file.is_file():
        return ()
    return tuple(_EVENTS.decode(line) for line in file.read_bytes().splitlines())
