"""Statements in a log, counted as they come: which texts, which query ids, and whether the one groups as the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

from pgclinic.model.log import AnyLogEvent, PlanLogged, SlowStatement
from pgclinic.model.statement import LoggedPlans, LoggedTexts
from pgclinic.sql.fingerprint import fingerprint, fingerprint_method

#: Texts beyond this many are counted no more: a trial may send millions, and the first ones tell.
TEXTS_MAX = 20_000
_WHOLE = ("statement", "execute")


class TextCounter:
    """Fed with all events of a log. ``application`` is the load's: what others say of themselves does not count."""

    def __init__(self, application: str) -> None:
        self._application = application
        self._statements = 0
        self._method = fingerprint_method()
        # Of each text a digest: texts may be megabytes long. With an id there is a fingerprint beside it.
        self._known: dict[bytes, tuple[int, str] | None] = {}
        self._plans: Counter[tuple[int | None, str | None]] = Counter()

    def feed(self, event: AnyLogEvent) -> None:
        if event.origin.application_name not in (self._application, None):
            return
        if isinstance(event, PlanLogged):
            text = event.query_text
            self._plans[event.query_id, None if text is None else fingerprint(text, self._method)] += 1
        elif isinstance(event, SlowStatement) and event.text is not None and event.phase in _WHOLE:
            self._statements += 1
            self._note(event.text, event.origin.query_id)

    def result(self) -> LoggedTexts:
        known = [labels for labels in self._known.values() if labels is not None]
        return LoggedTexts(
            statements=self._statements,
            texts=len(self._known),
            query_ids=len({query_id for query_id, _ in known}),
            agreement=pairs_agreement(known),
            fingerprints_by=self._method,
            plans=tuple(
                LoggedPlans(query_id=query_id, fingerprint=text, logged=number)
                for (query_id, text), number in self._plans.items()
            ),
        )

    def _note(self, text: str, query_id: int | None) -> None:
        digest = blake2b(text.encode(errors="replace"), digest_size=16).digest()
        if digest not in self._known and len(self._known) < TEXTS_MAX:
            self._known[digest] = None if query_id is None else (query_id, fingerprint(text, self._method))


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
