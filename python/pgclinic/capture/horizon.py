"""How long a live server's xmin horizon is held: asked once a second or so, followed from hold to hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pgclinic import __version__
from pgclinic.capture.live_session import live_session
from pgclinic.capture.reader import PartReader
from pgclinic.errors import PgclinicError, ServerLostError
from pgclinic.model.horizon import HorizonPoint, HorizonRecording
from pgclinic.model.snapshot import HorizonHolding
from pgclinic.model.twin import HorizonHold
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError

#: A series has so many points at most; longer recordings keep the most of each interval.
POINTS_MAX = 3600
#: An answer that takes longer is a missed sample.
TIMEOUT_MS = 2000
_RECONNECT_S = 5.0


@dataclass
class _Open:
    """A hold that was there when it was last looked for. Times in seconds after the start."""

    kind: str
    holder: str
    began_s: float
    seen_s: float
    age: int
    age_max: int
    catalog_only: bool


@dataclass
class HoldTracker:
    """Samples in, holds out. Shorter holds than ``every_s`` are forgotten: most of them fall between two samples."""

    every_s: float
    bin_s: float
    _open: dict[str, _Open] = field(default_factory=dict)
    _done: list[HorizonHold] = field(default_factory=list)
    _points: dict[int, HorizonPoint] = field(default_factory=dict)

    def sample(self, at_s: float, seen: Iterable[HorizonHolding]) -> HorizonPoint:
        """Take what was seen ``at_s`` seconds after the start, and give the oldest of it."""
        here = {holding.key: holding for holding in seen if holding.is_here}
        for key in [key for key in self._open if key not in here]:
            self._end(key)
        for key, one in here.items():
            self._follow(key, one, at_s)
        data = [open_ for open_ in self._open.values() if not open_.catalog_only]
        oldest = max(data, key=lambda one: (one.age, at_s - one.began_s), default=None)
        point = (
            HorizonPoint(at_s=at_s, age_transactions=0, held_s=0.0)
            if oldest is None
            else HorizonPoint(at_s=at_s, age_transactions=oldest.age, held_s=at_s - oldest.began_s, kind=oldest.kind)
        )
        place = int(at_s / self.bin_s)
        before = self._points.get(place)
        if before is None or (point.age_transactions, point.held_s) > (before.age_transactions, before.held_s):
            self._points[place] = point
        return point

    def holds(self) -> tuple[HorizonHold, ...]:
        """All holds so far in the order in which they began, those that last among them."""
        lasting = [
            _hold(opened, lasts=True)
            for opened in self._open.values()
            if opened.seen_s - opened.began_s >= self.every_s
        ]
        return tuple(sorted([*self._done, *lasting], key=lambda hold: hold.began_s))

    def series(self) -> tuple[HorizonPoint, ...]:
        return tuple(self._points[place] for place in sorted(self._points))

    def _follow(self, key: str, one: HorizonHolding, at_s: float) -> None:
        known = self._open.get(key)
        catalog_only = one.xmin_age is None
        age = (one.catalog_xmin_age if catalog_only else one.xmin_age) or 0
        if known is not None and age < known.age:
            # Its snapshot has moved on, as that of each statement and of each feedback of a standby does.
            self._end(key)
            known = None
            began_s = at_s
        elif known is None:
            began_s = at_s - (one.held_s or 0.0)
        if known is None:
            self._open[key] = _Open(one.kind, one.holder, began_s, at_s, age, age, catalog_only)
            return
        known.seen_s, known.age, known.age_max = at_s, age, max(age, known.age_max)
        if one.kind == "session":
            # A transaction that is ever idle is one, however often it runs a query.
            known.kind = one.kind

    def _end(self, key: str) -> None:
        ended = self._open.pop(key)
        if ended.seen_s - ended.began_s >= self.every_s:
            self._done.append(_hold(ended, lasts=False))


def _hold(one: _Open, *, lasts: bool) -> HorizonHold:
    return HorizonHold(
        kind=one.kind,
        began_s=round(one.began_s, 3),
        held_s=round(one.seen_s - one.began_s, 3),
        age_transactions=one.age_max,
        holder=one.holder,
        lasts=lasts,
        catalog_only=one.catalog_only,
    )


class HorizonRecorder:
    """Records the horizon of one server. ``run`` may be interrupted; ``recording`` is what there is so far."""

    def __init__(self, access: Access, *, for_s: float, every_s: float = 1.0) -> None:
        self._access = access
        self._for_s, self._every_s = for_s, every_s
        self._tracker = HoldTracker(every_s, max(every_s, for_s / POINTS_MAX))
        self._began_s, self._began_epoch_s = time.monotonic(), time.time()
        self._samples = self._missed = self._due = 0
        self._version, self._database = access.server.version, access.server.database
        self._first_transaction: int | None = None
        self._last_transaction = 0
        self._last_s = 0.0

    def run(self, on_point: Callable[[HorizonPoint], None] = lambda _: None) -> None:
        """Sample until the time is over. A server that is lost meanwhile is connected to again.

        Raises UsageError when it cannot be reached at the start.
        """
        while not self._is_over():
            try:
                with live_session(self._access, statement_timeout_ms=TIMEOUT_MS) as session:
                    reader = PartReader(session, self._access.major)
                    self._database = reader.server.database
                    self._sample_until_lost(reader, on_point)
            except PgclinicError:
                if not self._samples:
                    raise
                time.sleep(min(_RECONNECT_S, max(0.0, self._for_s - self._elapsed_s())))

    def recording(self, about: str = "") -> HorizonRecording:
        """Everything up to now."""
        return HorizonRecording(
            pgclinic=__version__,
            server_version=self._version,
            database=self._database,
            began_epoch_s=self._began_epoch_s,
            duration_s=round(self._last_s, 3),
            every_s=self._every_s,
            bin_s=max(self._every_s, self._for_s / POINTS_MAX),
            series=self._tracker.series(),
            holds=self._tracker.holds(),
            samples=self._samples,
            missed=self._missed,
            transactions=max(0, self._last_transaction - (self._first_transaction or 0)),
            about=about,
        )

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def _is_over(self) -> bool:
        return self._elapsed_s() >= self._for_s

    def _sample_until_lost(self, reader: PartReader, on_point: Callable[[HorizonPoint], None]) -> None:
        """Sample to the end. Raises ServerLostError, and QueryError when the very first sample fails."""
        holds_sql = query("snapshot_horizon", self._access.major)
        next_sql = query("horizon_next_transaction", self._access.major)
        while self._due * self._every_s < self._for_s:
            time.sleep(max(0.0, self._due * self._every_s - self._elapsed_s()))
            try:
                seen = reader.rows("horizon", HorizonHolding, holds_sql)
                (next_,) = reader.rows("next", dict[str, int], next_sql)
            except ServerLostError:
                raise
            except QueryError:
                if not self._samples:
                    raise
                self._missed += 1
            else:
                self._take(seen, next_["next"], on_point)
            self._due += 1
            # What a slow answer, or a lost server, has made too late is not caught up with.
            late = int(self._elapsed_s() / self._every_s) - self._due
            if late > 0:
                self._missed += late
                self._due += late
        time.sleep(max(0.0, self._for_s - self._elapsed_s()))
        self._last_s = self._for_s

    def _take(
        self, seen: Iterable[HorizonHolding], next_transaction: int, on_point: Callable[[HorizonPoint], None]
    ) -> None:
        self._samples += 1
        self._last_s = self._elapsed_s()
        if self._first_transaction is None:
            self._first_transaction = next_transaction
        self._last_transaction = next_transaction
        on_point(self._tracker.sample(self._last_s, seen))
