"""Statements in a log, counted as they come: which texts, which query ids, and whether the one groups as the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pgclinic.model.log import AnyLogEvent, PlanLogged, SlowStatement
from pgclinic.model.statement import LoggedTexts
from pgclinic.pg.fingerprint import fingerprint, fingerprint_method

#: Texts beyond this many are counted no more: a trial may send millions, and the first ones tell.
TEXTS_MAX = 20_000
_WHOLE = ("statement", "execute")


class TextCounter:
    """Fed with all events of a log. ``application`` is the load's: what others say of themselves does not count."""

    def __init__(self, application: str) -> None:
        self._application = application
        self._statements = 0
        self._ids: dict[str, int | None] = {}
        self._plans: Counter[int | None] = Counter()

    def feed(self, event: AnyLogEvent) -> None:
        if event.origin.application_name not in (self._application, None):
            return
        if isinstance(event, PlanLogged):
            self._plans[event.query_id] += 1
        elif isinstance(event, SlowStatement) and event.text is not None and event.phase in _WHOLE:
            self._statements += 1
            if event.text in self._ids or len(self._ids) < TEXTS_MAX:
                self._ids[event.text] = event.origin.query_id

    def result(self) -> LoggedTexts:
        method = fingerprint_method()
        known = {text: query_id for text, query_id in self._ids.items() if query_id is not None}
        return LoggedTexts(
            statements=self._statements,
            texts=len(self._ids),
            query_ids=len(set(known.values())),
            agreement=pairs_agreement((query_id, fingerprint(text, method)) for text, query_id in known.items()),
            fingerprints_by=method,
            plans={query_id: number for query_id, number in self._plans.items() if query_id is not None},
            plans_without_id=self._plans[None],
        )


def pairs_agreement(labels: Iterable[tuple[int, str]]) -> float | None:
    """The share of all pairs of things that two ways of grouping treat alike (Rand's index); None with fewer than two.

    ``labels`` are the two groups of each thing. Counted by groups: the pairs themselves may be hundreds of millions.
    """
    both = Counter(labels)
    one, other = Counter[int](), Counter[str]()
    for (mine, yours), number in both.items():
        one[mine] += number
        other[yours] += number
    pairs = _pairs(both.total())
    if pairs == 0:
        return None
    together = _inside(both.values())
    return (pairs + 2 * together - _inside(one.values()) - _inside(other.values())) / pairs


def _inside(groups: Iterable[int]) -> int:
    return sum(_pairs(number) for number in groups)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2
