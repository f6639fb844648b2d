"""Samples the server's own views beside a load, from a thread of its own, on one connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pgclinic.errors import PgclinicError, ServerLostError, UsageError
from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.observe.processes import cpu_seconds
from pgclinic.observe.views import DEFAULT_VIEWS, OF_STATEMENTS, View, busiest, key_of
from pgclinic.pg.batch import BatchAnswer, BatchSession
from pgclinic.pg.extension_schemas import STATEMENTS, extension_schemas, in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError

INTERVAL_S = 1.0
STATEMENT_TIMEOUT_MS = 1500
# A sampler that queues behind somebody's ALTER TABLE makes others queue behind itself.
LOCK_TIMEOUT_MS = 100
# An answer that takes longer will not come any more.
LOST_AFTER_S = 30.0
# How long ``stop`` waits for a last answer unless told otherwise.
LAST_ANSWER_S = 2.0
# Views of thousands of rows may take this share of one processor, each; shorter answers than these are no matter.
SHARE_MAX = 0.005
SHORT_S = 0.01
# A view that timed out is left alone for longer and longer, but never for more than this.
REST_S_MAX = 60.0

# Classes of SQLSTATE that say "not now": no resources, the operator or a timeout said stop, a conflict, a lock.
_PASSING = ("53", "57", "40", "55P03", "58")


class Sampler:
    """Samples ``views`` from ``start`` to ``stop``, all of them at the start and at the end.

    Views that are due go in one round trip. One that fails for good is remembered with the server's reason and not
    asked again; a server too slow to answer leaves a gap, not a hang; a lost connection is opened again. ``on_sample``
    is called from the sampling thread with every sample, never after ``stop`` has returned.
    """

    def __init__(
        self,
        access: Access,
        *,
        interval_s: float = INTERVAL_S,
        views: tuple[View, ...] = DEFAULT_VIEWS,
        on_sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.gaps = 0
        self.failed: dict[str, str] = {}
        self.cost_s = 0.0
        self.server_cost_s: float | None = None
        self._access = access
        self._interval_s = interval_s
        self._on_sample = on_sample
        self._texts = self._known(views)
        self._views = [view for view in views if view.name in self._texts]
        self._due_s = {view.name: 0.0 for view in self._views}
        self._refused = dict.fromkeys(self._texts, 0)
        self._took_s: dict[str, float] = {}
        self._before: dict[str, dict[tuple[object, ...], Row]] = {}
        self._taken: list[Sample] = []
        self._stopping = threading.Event()
        self._give_up_s = float("inf")
        self._publishing = threading.Lock()
        self._closed = False
        self._session: BatchSession | None = self._connect()
        self._thread = threading.Thread(target=self._run, name="pgclinic-observe", daemon=True)

    def start(self) -> None:
        """Take the first samples now; samples carry epoch seconds."""
        self._thread.start()

    def stop(self, *, patience_s: float = LAST_ANSWER_S) -> Samples:
        """Take the last samples, and give all of them, oldest first.

        Returns after ``patience_s`` and at most a second more, whatever the server does.
        """
        self._give_up_s = time.monotonic() + patience_s
        self._stopping.set()
        if self._thread.ident is None:
            self._finish()
        else:
            self._thread.join(timeout=patience_s + 0.5)
        with self._publishing:
            # A thread that still waits for a connection finds its samples unwanted.
            self._closed = True
            return Samples(
                taken=tuple(self._taken),
                gaps=self.gaps,
                failed=dict(self.failed),
                cost_s=self.cost_s,
                server_cost_s=self.server_cost_s,
            )

    def _known(self, views: tuple[View, ...]) -> dict[str, str]:
        """The SQL of each view that this server's version has."""
        texts = {}
        for view in views:
            try:
                texts[view.name] = view.sql(self._access.major)
            except UsageError as error:
                self.failed[view.name] = error.message
        return texts

    def _connect(self) -> BatchSession:
        """Open a session whose own settings are sane, on a server whose settings need not be."""
        session = BatchSession(
            self._access,
            statement_timeout_ms=STATEMENT_TIMEOUT_MS,
            lock_timeout_ms=LOCK_TIMEOUT_MS,
            application_name="pgclinic-observe",
        )
        try:
            session.rows(query("sample_session", self._access.major))
            if OF_STATEMENTS & self._texts.keys():
                self._find_statements(session)
        except QueryError as error:
            session.close()
            raise ServerLostError(f"the server was lost while connecting: {error.message}") from error
        return session

    def _find_statements(self, session: BatchSession) -> None:
        schemas = extension_schemas(session, self._access.major)
        if STATEMENTS in schemas:
            self._texts = {name: in_schemas(text, schemas) for name, text in self._texts.items()}
            return
        for name in sorted(OF_STATEMENTS & self._texts.keys()):
            self._remember(name, "the extension pg_stat_statements is not created in this database")

    def _run(self) -> None:
        try:
            due_s = time.monotonic()
            self._tick()
            while True:
                due_s += self._interval_s
                if self._stopping.wait(max(0.0, due_s - time.monotonic())):
                    break
                missed = int((time.monotonic() - due_s) / self._interval_s)
                self.gaps += missed
                due_s += missed * self._interval_s
                self._tick()
            self._take([view for view in self._views if view.name in self._texts])
        finally:
            self._finish()

    def _tick(self) -> None:
        """Ask whatever is due; half an interval early is not early."""
        if self._session is None and not self._reconnect():
            self.gaps += 1
            return
        until_s = time.monotonic() + self._interval_s / 2
        due = [
            view
            for view in self._views
            if view.name in self._texts and not view.at_end and self._due_s[view.name] <= until_s
        ]
        self._take(due)

    def _every_s(self, view: View) -> float:
        """How long until this view is asked again: its quickest answer tells best what it costs by itself."""
        took_s = self._took_s.get(view.name, 0.0)
        return max(view.every_s, took_s / SHARE_MAX) if view.grows and took_s > SHORT_S else view.every_s

    def _reconnect(self) -> bool:
        try:
            self._session = self._connect()
        except PgclinicError:
            return False
        return True

    def _take(self, views: list[View]) -> None:
        """Ask ``views``, again without the one that failed, for as long as the interval lasts."""
        began_s = time.monotonic()
        complete, waiting = True, list(views)
        while waiting and self._session is not None:
            if time.monotonic() - began_s > self._interval_s and len(waiting) < len(views):
                complete = False
                break
            answers = self._ask(self._session, waiting, began_s)
            for view in waiting:
                if view.name in answers:
                    complete &= self._settle(view, answers[view.name])
            waiting = [view for view in waiting if view.name not in answers]
        self.gaps += 0 if complete and self._session is not None else 1

    def _ask(self, session: BatchSession, views: list[View], began_s: float) -> dict[str, BatchAnswer]:
        """Answers by view; none, and no session any more, when the server is lost or hangs."""
        texts = {view.name: self._texts[view.name] for view in views}
        try:
            return session.ask(texts, give_up=lambda: self._is_hopeless(began_s))
        except QueryError:
            session.close()
            self._session = None
            return {}

    def _is_hopeless(self, began_s: float) -> bool:
        now_s = time.monotonic()
        return now_s > self._give_up_s or now_s - began_s > LOST_AFTER_S

    def _settle(self, view: View, answer: BatchAnswer) -> bool:
        """Take what came; False when it will come later."""
        if answer.failure is not None:
            return self._refuse(view, answer.failure)
        self._refused[view.name] = 0
        self._took_s[view.name] = min(answer.took_s, self._took_s.get(view.name, answer.took_s))
        self._due_s[view.name] = time.monotonic() + self._every_s(view)
        self.failed.pop(view.name, None)
        self._publish(Sample(at_s=answer.at_s, view=view.name, rows=self._reduced(view, answer.rows)))
        return True

    def _refuse(self, view: View, failure: QueryError) -> bool:
        """Remember why; what fails for good is not asked again, what timed out less and less often."""
        if failure.sqlstate is not None and failure.sqlstate.startswith(_PASSING):
            self.failed[view.name] = failure.message
            self._refused[view.name] += 1
            rest_s = min(REST_S_MAX, max(view.every_s, self._interval_s) * 2 ** self._refused[view.name])
            self._due_s[view.name] = time.monotonic() + rest_s
            return False
        self._remember(view.name, failure.message)
        return True

    def _remember(self, name: str, reason: str) -> None:
        self.failed[name] = reason
        self._texts.pop(name, None)

    def _reduced(self, view: View, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """All rows the first and the last time, in between those that changed most."""
        if view.top is None:
            return rows
        top = view.top
        before = self._before.get(view.name)
        self._before[view.name] = {key_of(row, top): row for row in rows}
        return rows if before is None or self._stopping.is_set() else busiest(rows, before, top)

    def _publish(self, sample: Sample) -> None:
        with self._publishing:
            if self._closed:
                return
            self._taken.append(sample)
            if self._on_sample is not None:
                self._on_sample(sample)

    def _finish(self) -> None:
        if self._session is not None:
            self.server_cost_s = self._server_cost_s(self._session)
            self._session.close()
            self._session = None
        self.cost_s = time.thread_time()

    def _server_cost_s(self, session: BatchSession) -> float | None:
        """CPU seconds of our backend, where it runs on this machine."""
        if self._access.server.pid is None:
            return None
        try:
            return cpu_seconds(session.backend_pid)
        except ServerLostError:
            return None
