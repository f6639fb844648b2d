"""In which figures two arms differ by more than chance."""

from __future__ import annotations

from pgclinic.samples.clear_difference import clear_differences

STEADY = [10.0, 10.1, 9.9, 10.0, 10.05]
TWICE = [20.1, 19.9, 20.0, 20.2, 19.8]


def test_each_figure_has_an_answer_of_its_own() -> None:
    wild = [10.0, 30.0, 3.0, 12.0, 8.0]
    assert clear_differences([(STEADY, TWICE), (STEADY, STEADY), (STEADY, wild)]) == (True, False, False)


def test_a_figure_with_zeros_is_compared_by_its_differences() -> None:
    assert clear_differences([([0.0] * 5, TWICE), ([0.0] * 5, [0.0, 0.0, 3.0, 0.0, 0.0])]) == (True, False)


def test_a_figure_that_some_blocks_lack_never_differs() -> None:
    assert clear_differences([(STEADY[:4], TWICE[:4]), (STEADY, TWICE)]) == (False, True)


def test_fewer_than_four_blocks_show_nothing() -> None:
    assert clear_differences([(STEADY[:3], TWICE[:3])] * 2) == (False, False)
    assert clear_differences([]) == ()


def test_many_figures_share_one_level() -> None:
    """What is clear alone is not beside forty others without any difference."""
    slight = [10.4, 10.9, 10.2, 10.3, 10.9]
    beside = [(STEADY, [10.0, 10.3, 9.6, 10.2, 10.0])] * 40
    assert clear_differences([(STEADY, slight)]) == (True,)
    assert not any(clear_differences([(STEADY, slight), *beside]))
