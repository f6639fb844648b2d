"""The highest rate that keeps a target: pure search, told about every trial, never running one.

Bracket: double the rate until it misses. Narrow: halve the gap, on a logarithmic scale, until it is small. Confirm:
run the best rate again; if it misses now, step down and confirm again. Only a rate that was kept twice is reported,
because a single short trial keeps a target by luck now and then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pgclinic.model.bench import RateSearchResult, RateTrial
from pgclinic.model.threshold import Threshold

#: Rates closer than this are not told apart by trials of seconds.
GAP = 1.05
STEP_DOWN = 0.93
TRIALS_MAX = 30
RATE_MIN_TPS = 1.0
#: A rate kept and its double missed, halvings of the gap between them until it is small, and one that confirms.
TRIALS_LIKELY = 3 + math.ceil(math.log2(math.log(2) / math.log(GAP)))


@dataclass(frozen=True)
class SearchLength:
    """How long a search takes: ``capacity_s`` in closed loop, then loads of ``trial_s`` each."""

    capacity_s: float
    trial_s: float
    trials_likely: int = TRIALS_LIKELY
    trials_max: int = TRIALS_MAX

    @property
    def likely_s(self) -> float:
        return self.capacity_s + self.trials_likely * self.trial_s

    @property
    def most_s(self) -> float:
        return self.capacity_s + self.trials_max * self.trial_s


@dataclass
class RateSearch:
    """Ask ``next_rate``, run it, ``tell`` what came; until ``next_rate`` is None.

    ``stage`` is that of the rate that was given last. ``first_tps`` is where to begin, ``ceiling_tps`` what is never
    exceeded, ``lowest_tps`` what is never gone below: with too few transactions a trial says nothing. All per second.
    """

    target: Threshold
    first_tps: float
    ceiling_tps: float
    lowest_tps: float = RATE_MIN_TPS
    trials: list[RateTrial] = field(default_factory=list)
    stage: str = field(default="bracket", init=False)
    _kept: float | None = None
    _missed: float | None = None
    _confirmed: float | None = None

    def next_rate(self) -> float | None:
        """The rate to try, None when the search has ended."""
        if self._confirmed is not None or len(self.trials) >= TRIALS_MAX:
            return None
        if self.stage == "bracket":
            self._leave_bracket()
        if self.stage == "narrow" and self._is_narrow():
            self.stage = "confirm"
        match self.stage:
            case "bracket":
                return self._bracket_rate()
            case "narrow":
                assert self._kept is not None and self._missed is not None
                return _rounded(math.sqrt(self._kept * self._missed))
            case "confirm" if self._kept is not None:
                return self._kept
            case _:
                return None

    def tell(self, rate_tps: float, *, served_tps: float, measured: float | None, why: str) -> None:
        """What the trial at ``rate_tps`` gave; ``why`` names what was missed, empty when the target was kept."""
        kept = not why
        self.trials.append(
            RateTrial(stage=self.stage, rate_tps=rate_tps, served_tps=served_tps, measured=measured, kept=kept, why=why)
        )
        if self.stage == "confirm":
            self._confirm(rate_tps, kept=kept)
        elif kept:
            self._kept = max(rate_tps, self._kept or 0.0)
        else:
            self._missed = min(rate_tps, self._missed or math.inf)

    def result(self) -> RateSearchResult:
        limited = "target" if self._missed is not None else "ceiling"
        return RateSearchResult(
            target=self.target, rate_tps=self._confirmed, limited=limited, trials=tuple(self.trials)
        )

    def _confirm(self, rate_tps: float, *, kept: bool) -> None:
        if kept:
            # Twice in all: a rate that was stepped down to has been tried by nobody before.
            if sum(trial.kept for trial in self.trials if trial.rate_tps == rate_tps) >= 2:
                self._confirmed = rate_tps
            return
        self._missed = rate_tps
        lower = rate_tps * STEP_DOWN
        self._kept = _rounded(lower) if lower >= self.lowest_tps and _rounded(lower) < rate_tps else None

    def _bracket_rate(self) -> float | None:
        if not self.trials:
            return _rounded(min(max(self.first_tps, self.lowest_tps), self.ceiling_tps))
        if self._missed is None:
            assert self._kept is not None
            return _rounded(min(self._kept * 2, self.ceiling_tps))
        lower = self._missed / 2
        return _rounded(lower) if lower >= self.lowest_tps else None

    def _leave_bracket(self) -> None:
        if self._kept is not None and self._missed is not None:
            self.stage = "narrow"
        elif self._kept is not None and self._kept >= _rounded(self.ceiling_tps):
            self.stage = "confirm"

    def _is_narrow(self) -> bool:
        assert self._kept is not None and self._missed is not None
        middle = _rounded(math.sqrt(self._kept * self._missed))
        return self._missed / self._kept <= GAP or middle in (self._kept, self._missed)


def _rounded(rate_tps: float) -> float:
    """Three digits: more would pretend to a precision that no trial has."""
    if rate_tps <= RATE_MIN_TPS:
        return RATE_MIN_TPS
    digits = 2 - math.floor(math.log10(rate_tps))
    return round(rate_tps, digits)
