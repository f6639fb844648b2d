"""A twin that somebody names as the data of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TwinWanted:
    """A captured database as the data of the run, with ``scale`` times its rows."""

    path: Path
    scale: float = 1.0
