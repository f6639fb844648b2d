"""The order of the arms inside each block: counterbalanced, drawn at random from the seed. Pure.

Blocks come in twos, a sequence and its mirror image, so after every second block each arm has run as often before any
other arm as after it, and a linear effect of the position cancels. The sequences are the rows of Williams' balanced
Latin squares (1949): over a whole cycle each arm stands at each position equally often and follows each other arm
equally often, so that what a trial leaves behind for the next one cancels as well. A cycle has as many blocks as arms,
or twice as many where their number is odd.

A disturbance with the period of one cycle would meet every cycle in the same phase, and where two cycles are turned the
same way all their blocks would be disturbed alike: the ratio is off and its spread shows nothing. So every second cycle
is the one before it with each order reversed, which turns such a disturbance into spread; each two cycles are drawn
anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def block_order(arms: Sequence[str], seed: int, block: int) -> tuple[str, ...]:
    """The arms in the order in which ``block``, counted from 1, runs them.

    It depends on the arms, the seed and the block alone, so the order of any block is found without those before it.
    """
    cycle, at = divmod(block - 1, blocks_in_cycle(len(arms)))
    # A text as seed is hashed, so neighbouring draws and neighbouring seeds are unrelated.
    draw = random.Random(f"{seed} order {cycle // 2}")
    names = list(arms)
    draw.shuffle(names)
    sequences = _one_of_each_mirror_pair(len(names))
    draw.shuffle(sequences)
    turned = [draw.random() < 0.5 for _ in sequences]
    pair, second = divmod(at, 2)
    sequence = sequences[pair]
    mirrored = turned[pair] ^ bool(second) ^ bool(cycle % 2)
    return tuple(names[index] for index in (reversed(sequence) if mirrored else sequence))


def load_seed(seed: int, block: int) -> int:
    """The seed of the loads of a block: both arms draw the same random rows."""
    return random.Random(f"{seed} load {block}").getrandbits(48)


def blocks_in_cycle(arms: int) -> int:
    """After how many blocks every order has been used equally often."""
    return arms if arms % 2 == 0 else 2 * arms


def _one_of_each_mirror_pair(count: int) -> list[tuple[int, ...]]:
    """Williams' rows without the mirror image of each; for an even number the square holds both."""
    zigzag = [index // 2 if index % 2 == 0 else count - 1 - index // 2 for index in range(count)]
    rows = count // 2 if count % 2 == 0 else count
    return [tuple((index + row) % count for index in zigzag) for row in range(rows)]
