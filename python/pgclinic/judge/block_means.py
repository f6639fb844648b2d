"""What the blocks of a verdict say together beside its interval: spread, means, the line through a sweep. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgclinic.model.verdict import BlockRatio
from pgclinic.stats.log_ratio import ratio_range
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean, standard_deviation


def block_spread(blocks: Sequence[BlockRatio]) -> float | None:
    """The standard deviation of the block ratios as a share, taken of their logarithms; None of a single block."""
    if len(blocks) < 2:
        return None
    return math.expm1(standard_deviation([math.log(block.ratio) for block in blocks]))


def t_interval_of(blocks: Sequence[BlockRatio]) -> tuple[float, float]:
    """Student's 95 % interval of the ratio, for a number of blocks that was fixed beforehand."""
    return ratio_range(*t_interval([math.log(block.ratio) for block in blocks]))


def arm_means(blocks: Sequence[BlockRatio]) -> tuple[float, float]:
    """The means over the blocks of what the control and the arm gave, each in its own unit."""
    return mean([block.control_value for block in blocks]), mean([block.arm_value for block in blocks])


def level_means(blocks: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The geometric mean of each level of a sweep over the blocks; a block has one value above zero a level."""
    return tuple(math.exp(mean([math.log(value) for value in column])) for column in zip(*blocks, strict=True))


def fitted_ends(levels: Sequence[float], means: Sequence[float], ratio: float) -> tuple[float, float]:
    """The fitted line at the first and the last level, both axes logarithmic.

    It goes through the middle of all points and from its first end to its last by ``ratio``.
    """
    logs = [math.log(level) for level in levels]
    steepness = math.log(ratio) / (logs[-1] - logs[0])
    height = mean([math.log(value) for value in means])
    first = height - steepness * (mean(logs) - logs[0])
    return math.exp(first), math.exp(first) * ratio
