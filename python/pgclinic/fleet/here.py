"""Trials on this machine, in this process, one at a time: two timed trials never share the machine.

That holds between commands too: a second one waits for the first one's trial, and their trials alternate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pgclinic.lab.measuring import exclusive_measurement
from pgclinic.model.progress import BESIDE, WAITING
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.trial.run import TrialListener, run_trial


class Fleet(Protocol):
    """Whatever turns the order for a trial into its record."""

    def run(self, spec: TrialSpec, listener: TrialListener) -> TrialRecord:
        """Run one trial; a trial that goes wrong comes back as a failed record, not as an error."""
        ...


@dataclass(frozen=True)
class Here:
    """``dsn`` is the whole address of an attached server, secrets included; it is never stored.

    Where arms have servers of their own, ``dsns`` are their whole addresses by the address without secrets.
    """

    dsn: str | None = None
    dsns: Mapping[str, str] = field(default_factory=dict)

    def run(self, spec: TrialSpec, listener: TrialListener) -> TrialRecord:
        with exclusive_measurement(lambda: listener.on_stage(WAITING), lambda: listener.on_stage(BESIDE)):
            return run_trial(spec, listener, dsn=self._whole_address(spec))

    def _whole_address(self, spec: TrialSpec) -> str | None:
        own = spec.server.dsn
        return self.dsn if own is None else self.dsns.get(own, self.dsn or own)
