"""What is said of advised indexes, and the script that makes them."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.advised import an_advice
from pgclinic.model.advise import AdviceProof, AdviceWord, ChosenBy, WriteCost
from pgclinic.report.exports.advice_script import advice_script
from pgclinic.report.sections.advice.text import advice_sentence, advice_text, cost_words


def test_the_answer_is_what_blocks_say_with_their_interval() -> None:
    said = advice_sentence(an_advice())
    assert said == "1 index saves 46 % of the server time of shop, 95 % CI 40 % to 50 %, 8 blocks on its twin"


def test_without_blocks_it_is_what_single_executions_say() -> None:
    assert advice_sentence(an_advice(proof=None)) == (
        "1 index saves 48 % of the server time of shop by single executions; not compared in blocks"
    )
    failed = an_advice(proof=AdviceProof(reason="starved_cpu"))
    assert advice_sentence(failed).endswith("no interval from blocks: other programs used most of the CPU")
    open_sign = an_advice(proof=AdviceProof(reason="twin_unlike", open_share=0.12))
    assert "does not reproduce statements with 12 % of the time" in advice_sentence(open_sign)


def test_blocks_that_contradict_are_said_first() -> None:
    slower = AdviceProof(word="slower", ratio=1.2, low=1.1, high=1.3, blocks=8)
    text = " ".join(advice_text(an_advice(word=AdviceWord.CONTRADICTED, proof=slower)).split())
    assert text.startswith(
        "INDEXES NOT ADVISED 1 index saves 48 % of the server time of shop by single executions, but"
    )
    assert "the whole workload takes 1.20x the time with them, 8 blocks" in text


def test_nothing_to_advise_is_an_answer() -> None:
    none = an_advice(word=AdviceWord.NONE, indexes=(), drops=(), steps=(), proof=None)
    assert advice_text(none).startswith("NO INDEX ADVISED   no index of 12 candidates saves enough")


def test_the_method_and_what_was_left_out_are_said() -> None:
    text = " ".join(advice_text(an_advice(chosen_by=ChosenBy.GREEDY, measured=7)).split())
    assert "the greedy method, as OR-tools is not installed" in text
    assert "5 not measured for lack of time" in text
    assert "1 not executed" in text


def test_the_age_of_the_counters_is_said_of_indexes_that_are_not_judged() -> None:
    text = " ".join(advice_text(an_advice()).split())
    assert "orders_note_idx: no statement uses them, but statements were counted for 24 h only; a month is" in text
    unknown = " ".join(advice_text(an_advice(counted_s=None)).split())
    assert "but the server does not report since when it counts statements; a month is needed" in unknown


def test_the_cost_of_an_index() -> None:
    (index,) = an_advice().indexes
    assert cost_words(index) == (
        "3.2 MB, built in 120 ms (7.3 s per GB of the table); 2 statements that write the table: 23 % more WAL, 11 % "
        "more buffers, 0.4 % of the server time; 75 % of its updates can no longer be HOT"
    )
    assert cost_words(replace(index, cost=WriteCost())).endswith("no statement of the workload writes the table")


def test_lines_of_sql_are_not_broken() -> None:
    lines = [line.strip() for line in advice_text(an_advice(), width=60).splitlines()]
    (index,) = an_advice().indexes
    assert f"{index.create[0]};" in lines
    assert f"undo     {index.undo};" in lines


def test_the_script_runs_what_creates_and_comments_what_drops() -> None:
    lines = advice_script(an_advice()).splitlines()
    active = [line for line in lines if line and not line.startswith("--")]
    (index,) = an_advice().indexes
    assert active == ["\\set ON_ERROR_STOP on", f"{index.create[0]};"]
    assert "-- drop index concurrently public.orders_customer_idx;" in lines


def test_a_name_cannot_leave_its_comment() -> None:
    (drop,) = an_advice().drops
    odd = an_advice(drops=(replace(drop, drop='drop index concurrently public."a\ndrop table t; --"', by="b\nzoo"),))
    assert not [line for line in advice_script(odd).splitlines() if line.startswith(("drop table", "zoo"))]
