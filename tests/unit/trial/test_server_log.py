"""What is kept of a log, and what is counted of all of it."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.statements import logged, origin, plan
from pgclinic.model.log import AnyLogEvent, CheckpointsTooFrequent, SlowStatement
from pgclinic.model.server import Server
from pgclinic.model.trial import Observed
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.samples.logged_texts import TextCounter, pairs_agreement
from pgclinic.sql.fingerprint import fingerprint
from pgclinic.trial.server_log import EvenSelection, TrialLog


def rare() -> CheckpointsTooFrequent:
    return CheckpointsTooFrequent(origin=origin(), apart_s=1)


def test_a_flood_is_thinned_evenly_and_what_is_rare_stays() -> None:
    kept = EvenSelection(events_max=100)
    for number in range(5000):
        kept.add(logged(str(number), query_id=1))
        if number % 1000 == 0:
            kept.add(rare())
    events = kept.events()
    numbers = [int(event.text or "") for event in events if isinstance(event, SlowStatement)]
    assert sum(isinstance(event, CheckpointsTooFrequent) for event in events) == 5
    assert 40 <= len(numbers) <= 95
    steps = {later - earlier for earlier, later in itertools.pairwise(numbers)}
    assert len(steps) == 1
    assert numbers[0] == 0 and numbers[-1] > 4800
    assert kept.left_out() == {"SlowStatement": 5000 - len(numbers)}


def test_a_statement_that_is_seldom_stays_beside_one_that_floods() -> None:
    kept = EvenSelection(events_max=50)
    for number in range(1000):
        kept.add(logged("often", query_id=1))
        if number % 200 == 0:
            kept.add(logged("seldom", query_id=2))
    assert sum(isinstance(event, SlowStatement) and event.text == "seldom" for event in kept.events()) == 5


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3000)), max_size=60), st.integers(1, 20))
def test_neither_limit_is_ever_passed_and_nothing_is_lost_untold(sizes: list[tuple[int, int]], most: int) -> None:
    kept = EvenSelection(events_max=most, bytes_max=5000)
    for query_id, size in sizes:
        kept.add(logged("x" * size, query_id))
    events = kept.events()
    assert len(events) <= most
    assert sum(200 + len(event.text or "") for event in events if isinstance(event, SlowStatement)) <= 5000
    assert len(events) + sum(kept.left_out().values()) == len(sizes)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=25))
def test_the_agreement_is_that_of_all_pairs(labels: list[tuple[int, str]]) -> None:
    pairs = list(itertools.combinations(labels, 2))
    alike = [(one[0] == two[0]) == (one[1] == two[1]) for one, two in pairs]
    expected = sum(alike) / len(alike) if alike else None
    assert pairs_agreement(labels) == (pytest.approx(expected) if expected is not None else None)


def test_texts_ids_and_plans_of_the_load_are_counted_and_no_others() -> None:
    counter = TextCounter("pgclinic-load")
    events: list[AnyLogEvent] = [logged(f"select {number % 10}", 5) for number in range(50)]
    events += [logged("select 1", 6, application="pgclinic-observe"), logged("select b from a", 7, application=None)]
    events += [plan("select 1", "Result", query_id=5), plan("select 1", "Result"), rare()]
    for event in events:
        counter.feed(event)
    found = counter.result()
    assert (found.statements, found.texts, found.query_ids, found.agreement) == (51, 11, 2, 1.0)
    assert sorted((one.query_id or 0, one.logged) for one in found.plans) == [(0, 1), (5, 1)]
    assert {one.fingerprint for one in found.plans} == {fingerprint("select 1")}


def test_ids_that_split_a_statement_do_not_agree_with_its_fingerprint() -> None:
    counter = TextCounter("pgclinic-load")
    for number in range(4):
        counter.feed(logged(f"select {number}", query_id=number % 2))
    # 6 pairs, all together by fingerprint; by id 2 of them.
    assert counter.result().agreement == pytest.approx(2 / 6)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({}, "not ours"),
        ({"data_dir": "/d", "log_path": "/l", "settings": {"log_destination": "syslog"}}, "syslog"),
    ],
)
def test_a_log_that_cannot_be_followed_says_why(server: dict[str, object], words: str) -> None:
    described = {"name": "s", "source": "attached", "version": "18.6", "version_num": 180006}
    connection = {"host": "h", "port": 5432, "user": "u", "database": "d"}
    log = TrialLog(msgspec.convert({**described, **connection, **server}, Server), "pgclinic-load")
    events = log.read(0.0)
    assert words in (events.problem or "")
    assert not events.kept


def test_events_survive_their_file() -> None:
    events = TrialEvents(
        kept=(
            TrialEvent(at_s=0.5, event=plan("select 1", "Result", query_id=-5)),
            TrialEvent(at_s=None, event=rare()),
        ),
        left_out={"SlowStatement": 3},
    )
    text = msgspec.json.encode(Observed(events=events))
    assert msgspec.json.decode(text, type=Observed).events == events
    assert Counter(type(one.event).__name__ for one in events.kept)["PlanLogged"] == 1


def test_statements_that_are_all_different_are_thinned_together() -> None:
    kept = EvenSelection(events_max=400)
    for number in range(5000):
        kept.add(logged("x", query_id=number))
    ids = [event.origin.query_id or 0 for event in kept.events()]
    assert 200 <= len(ids) <= 400
    assert max(ids) > 4900
