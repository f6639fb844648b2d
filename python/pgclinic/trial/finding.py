"""What a detector of doubts says, before it is known to which kind of doubt it belongs."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.model.trial import Doubt, DoubtKind


@dataclass(frozen=True)
class Finding:
    """``share`` is how much of it there was (of 1); ``advice`` what the reader can do about it."""

    text: str
    advice: str
    share: float | None = None

    def as_doubt(self, kind: DoubtKind) -> Doubt:
        return Doubt(kind=kind, text=self.text, advice=self.advice, share=self.share)
