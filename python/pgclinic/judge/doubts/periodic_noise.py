"""A machine that is faster and slower by turns, once in a few trials. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.judge.evidence import TPS, Pair
from pgclinic.judge.machine_wave import wave_among, without_wave
from pgclinic.model.doubt import Doubt, DoubtKind, MachineWave
from pgclinic.model.study import Question
from pgclinic.model.verdict import Interval, IntervalMethod
from pgclinic.stats.counterbalanced import block_mean


def periodic_noise(claim: Question, pairs: Sequence[Pair], interval: Interval | None) -> Doubt | None:
    """A wave in the TPS of all trials that may keep step with the order of the arms; the interval allows for it."""
    if claim.measure != TPS or claim.levels or interval is None or interval.method is IntervalMethod.COUNTS:
        return None
    wave = wave_among(pairs)
    if wave is None:
        return None
    without = block_mean(without_wave(pairs, wave), [pair.arm_later for pair in pairs])
    facts = MachineWave(period_s=wave.period_s, swing=math.expm1(wave.height), ratio=math.exp(without.centre))
    return Doubt(kind=DoubtKind.PERIODIC_NOISE, share=wave.explained, facts=facts)
