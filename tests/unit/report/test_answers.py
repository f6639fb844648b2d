"""The answer of a run in one word and one sentence."""

from __future__ import annotations

from fixtures.bench_results import bench_result
from fixtures.checkups import HEALTHY, SICK
from fixtures.comparison import comparison
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters
from fixtures.tuning import ASSAY, BISECT, SEARCH
from pgclinic.report.words.answers import ANSWER_WORDS, answer_sentence, answer_word
from pgclinic.report.words.checkup_lines import first_line

STUDY = global_counters()


def test_every_word_is_one_that_a_list_can_be_filtered_by() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595)))
    answers = (verdict, comparison([1.5] * 6), bench_result("-T", "5"), SICK, HEALTHY, ASSAY, SEARCH, BISECT)
    words = [answer_word(answer) for answer in answers]
    assert words[:5] == [verdict.headline.word.value, "faster", "measured", SICK.health.value, HEALTHY.health.value]
    assert set(words) <= ANSWER_WORDS


def test_the_sentence_is_that_of_the_commands_own_answer() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595)))
    first = verdict.headline
    assert answer_sentence(verdict).startswith(f"{first.claim} 0.6")
    assert answer_sentence(SICK) == first_line(SICK)
    assert answer_sentence(comparison([1.5] * 6)).startswith("b is 1.5")
    assert " TPS, " in answer_sentence(bench_result("-T", "5"))


def test_a_tuning_run_leaves_its_word_to_the_front_of_the_line() -> None:
    for answer in (ASSAY, SEARCH, BISECT):
        sentence = answer_sentence(answer)
        assert sentence
        assert not sentence.startswith(answer_word(answer).upper().split()[0])
        assert "   " not in sentence
