"""A run followed by its events: what a command appends to events.jsonl is read once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from pgclinic.errors import RunFailedError
from pgclinic.model.decoding import decoder_of
from pgclinic.model.doubt import Doubt
from pgclinic.model.event import Event, TrialEnded, VerdictReached
from pgclinic.model.run import RunKind
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.live.page import PARTS, live_parts
from pgclinic.report.live.run import LiveRun
from pgclinic.store.run_folder import decoded

_EVENT = decoder_of(Event)


class FollowedRun:
    """The events of a run folder so far, and the parts of its page that they make."""

    def __init__(self, path: Path, started_epoch_us: int, kind: RunKind | None = None) -> None:
        self.path = path
        self.live = LiveRun(started_epoch_us, kind)
        self._offset = 0
        self._parts: dict[str, tuple[int, str]] = {}

    def read(self) -> None:
        """Take in the events that were written since the last time. Raises RunFailedError: one is damaged."""
        for line in self._new_lines():
            try:
                event = _EVENT.decode(line)
            except msgspec.MsgspecError as error:
                raise RunFailedError(f"{self.path / 'events.jsonl'} is damaged: {error}") from error
            self.live.after(event, self._doubts(event))

    def _new_lines(self) -> list[bytes]:
        """Whole lines; one that is being written is for the next time."""
        try:
            descriptor = os.open(self.path / "events.jsonl", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return []
        with os.fdopen(descriptor, "rb") as file:
            file.seek(self._offset)
            whole = file.read()
        whole = whole[: whole.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [line for line in whole.split(b"\n") if line]

    def _doubts(self, event: Event) -> tuple[Doubt, ...]:
        """A trial's and a verdict's doubts stand in their own files, which are written before the event."""
        try:
            if isinstance(event, TrialEnded):
                return decoded(self.path / "trials" / str(event.trial) / "record.json", TrialRecord).doubts
            if isinstance(event, VerdictReached):
                return decoded(self.path / "verdict.json", Verdict).doubts
        except RunFailedError:
            # It was moved away; the report says so.
            return ()
        return ()

    def parts(self) -> dict[str, str]:
        """The parts of its page; those that no event has changed are those of the last time."""
        now_us = time.time_ns() // 1000
        for name in PARTS:
            version = self.live.versions[name]
            if name not in self._parts or self._parts[name][0] != version:
                self._parts[name] = version, str(live_parts(self.live, now_us, (name,))[name])
        return {name: part for name, (_, part) in self._parts.items()}
