"""Which runs of a list are wanted: by kind, name, answer, age, server and machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.errors import UnknownNameError
from pgclinic.model.output import RunOutput, RunState
from pgclinic.model.run import RunKind
from pgclinic.report.words.answers import ANSWER_WORDS
from pgclinic.report.words.machine import machine_words


@dataclass(frozen=True)
class RunFilter:
    """What a run has to be; None is any. ``answer`` is the word of an answer or a state, ``server`` and ``machine`` are
    as lists word them."""

    kind: RunKind | None = None
    name: str | None = None
    answer: str | None = None
    older_than_s: float = 0.0
    server: str | None = None
    machine: str | None = None

    @classmethod
    def asked(
        cls,
        kind: str | None,
        answer: str | None,
        *,
        name: str | None = None,
        older_than_s: float = 0.0,
        server: str | None = None,
        machine: str | None = None,
    ) -> RunFilter:
        """From words of a user. Raises UnknownNameError."""
        kinds = [known.value for known in RunKind]
        if kind is not None and kind not in kinds:
            raise UnknownNameError("kind", kind, kinds, where="--kind")
        answers = {*ANSWER_WORDS, *(state.value for state in RunState)}
        if answer is not None and answer.lower() not in answers:
            raise UnknownNameError("answer", answer, answers, where="--answer")
        return cls(
            kind=RunKind(kind) if kind is not None else None,
            name=name,
            answer=answer.lower() if answer is not None else None,
            older_than_s=older_than_s,
            server=server,
            machine=machine,
        )

    def has(self, run: RunOutput, now_s: float) -> bool:
        """Whether the run is one of these; of one that cannot be read nothing is known but that."""
        if self.answer is not None and self.answer not in (run.state.value, run.answer):
            return False
        started_us = run.started_epoch_us
        if self.older_than_s and (started_us is None or now_s - started_us / 1e6 <= self.older_than_s):
            return False
        machine = machine_words(run.machine) if run.machine is not None else None
        facts = ((self.kind, run.kind), (self.name, run.name), (self.server, run.server), (self.machine, machine))
        return all(wanted in (None, found) for wanted, found in facts)
