"""The words that an experiment may end with."""

from __future__ import annotations

from enum import Enum


class VerdictWord(str, Enum):
    """The word of a claim; an expectation is *confirmed* where a published claim is *replicated*.

    ``not replicated`` and ``not confirmed`` are answers: the interval excludes the claimed region, and only how far
    the ratio is from it is open.
    """

    REPLICATED = "replicated"
    CONFIRMED = "confirmed"
    REPLICATED_IN_DIRECTION = "replicated in direction"
    NO_EFFECT = "no effect"
    NOT_REPLICATED = "not replicated"
    NOT_CONFIRMED = "not confirmed"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


class CompareWord(str, Enum):
    """What b is beside a. ``no difference`` needs an interval as much as the others do; it is not "none was seen"."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
