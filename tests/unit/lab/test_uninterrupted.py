"""Signals that come while they are held back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from pgclinic.lab.uninterrupted import uninterrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def answered() -> Iterator[list[int]]:
    """The signals that were answered, in their order."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in NUMBERS}
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_one_is_answered_at_the_end(answered: list[int]) -> None:
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert answered == []
    assert answered == [signal.SIGTERM]


def test_one_that_is_ignored_hides_none_that_comes_after_it(answered: list[int]) -> None:
    """As nohup ignores SIGHUP, and a shell the SIGINT of its background jobs."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
    assert answered == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
