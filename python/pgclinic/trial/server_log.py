"""The log of a trial's server: its events from before the load to its end, in a bounded number."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from itertools import chain

from pgclinic.lab.log_events import follower_of
from pgclinic.model.log import AnyLogEvent, PlanLogged, SlowStatement
from pgclinic.model.server import Server
from pgclinic.model.trial_events import TrialEvent, TrialEvents
from pgclinic.pg.log.follow import LogFollower
from pgclinic.samples.logged_texts import TextCounter

KEPT_MAX = 2000
KEPT_BYTES_MAX = 2_000_000
# Of CPU: a server that logs every statement writes more in a minute than anybody wants to wait for.
READ_LIMIT_S = 10.0
_LEAST_BYTES = 200
_GROUPS_MAX = 200
_READABLE = ("stderr", "csvlog", "jsonlog")


class TrialLog:
    """The log from the moment this is made. It is read when the load is over: reading takes CPU that the load wants."""

    def __init__(self, server: Server, application: str) -> None:
        self._texts = TextCounter(application)
        self._follower: LogFollower | None = None
        self._problem = _unreadable(server)
        if self._problem is None:
            self._follower = follower_of(server)
            self._follower.skip()

    def read(self, began_s: float) -> TrialEvents:
        """All events until now; ``began_s`` is the epoch second at which measuring began."""
        if self._follower is None:
            return TrialEvents(problem=self._problem)
        kept, cut_off = EvenSelection(), False
        limit_s = time.thread_time() + READ_LIMIT_S
        for event in self._follower.finish():
            self._texts.feed(event)
            kept.add(event)
            if time.thread_time() > limit_s:
                cut_off = True
                break
        return TrialEvents(
            kept=tuple(TrialEvent(at_s=_at_s(event, began_s), event=event) for event in kept.events()),
            left_out=kept.left_out(),
            counts=self._follower.counts,
            texts=self._texts.result(),
            unread_bytes=self._follower.unread_bytes() if cut_off else 0,
        )


def _unreadable(server: Server) -> str | None:
    """Why the log of this server cannot be followed, None where it can."""
    if server.log_path is None or server.data_dir is None:
        return "the log of a server that is not ours is not followed"
    destinations = server.settings.get("log_destination", "stderr")
    if not any(name.strip().lower() in _READABLE for name in destinations.split(",")):
        return f"the server logs to {destinations} alone"
    return None


def _at_s(event: AnyLogEvent, began_s: float) -> float | None:
    return None if event.origin.at_us is None else round(event.origin.at_us / 1e6 - began_s, 6)


class EvenSelection:
    """At most so many events and bytes of them: of the group that has most every second one goes, again and again.

    So what is rare stays whole, and what is frequent stays spread over the whole time. A group is one kind of event,
    and of statements and plans those of one query.
    """

    def __init__(self, events_max: int = KEPT_MAX, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._events_max, self._bytes_max = events_max, bytes_max
        self._groups: dict[tuple[str, int | None], list[tuple[int, AnyLogEvent]]] = defaultdict(list)
        self._strides: dict[tuple[str, int | None], int] = defaultdict(lambda: 1)
        self._seen: Counter[tuple[str, int | None]] = Counter()
        self._number = self._kept = self._bytes = 0

    def add(self, event: AnyLogEvent) -> None:
        group = _group(event)
        if group not in self._seen and len(self._seen) >= _GROUPS_MAX:
            # Where every statement is another one, they are thinned together.
            group = (group[0], None)
        if self._seen[group] % self._strides[group] == 0:
            self._groups[group].append((self._number, event))
            self._kept += 1
            self._bytes += _bytes(event)
        self._seen[group] += 1
        self._number += 1
        while self._kept > self._events_max or (self._bytes > self._bytes_max and self._kept > 1):
            self._thin()

    def events(self) -> list[AnyLogEvent]:
        """Those that are kept, in the order in which they came."""
        return [event for _, event in sorted(chain(*self._groups.values()), key=lambda one: one[0])]

    def left_out(self) -> dict[str, int]:
        """How many are not kept, by kind."""
        lost: Counter[str] = Counter()
        for group, seen in self._seen.items():
            lost[group[0]] += seen - len(self._groups[group])
        return {kind: number for kind, number in sorted(lost.items()) if number}

    def _thin(self) -> None:
        """Halve the largest group; what is still to come is then taken half as often."""
        by_bytes = self._bytes > self._bytes_max
        group = max(self._groups, key=lambda one: self._weight(one, by_bytes=by_bytes))
        before = self._groups[group]
        # A single one, too large by itself, has no second one to stay for it.
        after = before[::2] if len(before) > 1 else []
        self._groups[group] = after
        self._strides[group] *= 2
        self._kept -= len(before) - len(after)
        self._bytes -= sum(_bytes(event) for _, event in before) - sum(_bytes(event) for _, event in after)

    def _weight(self, group: tuple[str, int | None], *, by_bytes: bool) -> int:
        own = self._groups[group]
        return sum(_bytes(event) for _, event in own) if by_bytes else len(own)


def _group(event: AnyLogEvent) -> tuple[str, int | None]:
    of_query = isinstance(event, PlanLogged | SlowStatement)
    return type(event).__name__, event.origin.query_id if of_query else None


def _bytes(event: AnyLogEvent) -> int:
    """About what an event takes when it is stored: its texts alone are long."""
    if isinstance(event, PlanLogged):
        return _LEAST_BYTES + len(event.plan) + len(event.query_text or "")
    return _LEAST_BYTES + len(getattr(event, "text", None) or getattr(event, "statement", None) or "")
