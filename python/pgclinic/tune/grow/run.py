"""Twins of several sizes, one after the other: each is built, its statements are executed, and what was seen is kept.

The budget is a promise: a size is begun only where the sizes before say that it will be ready in time.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import DiskFullError, PgclinicError, RunFailedError
from pgclinic.experiment.twin_check import known_settings
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.home import folder
from pgclinic.lab.template import has_template
from pgclinic.lab.temporary import temporary_folder
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.grow import GrowthForecast, SizeStatus, StatementAtSize, TwinSize, Unmeasured, WorkingSet
from pgclinic.model.twin import Twin
from pgclinic.pg.session import Session
from pgclinic.store.machine import read_machine
from pgclinic.trial.server import template_of
from pgclinic.tune.grow.laws import MeasuredStatement, PageReads, grown_statements, times, workload_growth
from pgclinic.tune.grow.measure import SizeTrial, at_sizes, fitting_settings, measuring_session, relation_bytes
from pgclinic.tune.grow.relations import Sizes, grown_relations, working_set
from pgclinic.tune.grow.sizes import COPIES, LARGEST, ROWS_PER_S, STARTED_S, estimated, planned_sizes
from pgclinic.tune.grow.vacuum import grown_vacuums
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.file import write_twin
from pgclinic.twin.grown import GrowthPlan, grown, grown_choice, growth_plan
from pgclinic.twin.kept_file import keep_twin, kept_file, rows_identity
from pgclinic.twin.mix import calibrated_in_order
from pgclinic.twin.parameters import CannotRun, OmissionReason, known_views, runnable_statements
from pgclinic.twin.values import ValueSource

#: Of what the budget has left when the first twin is there, the part that finding values may take.
_VALUES_SHARE = 0.25
#: Of the budget, how long one execution may take; more than a call should ever take, less than all of it.
_TIMEOUT_SHARE, _TIMEOUT_S_MIN = 0.1, 2.0
#: So many sets of values when a twin is new, in that part of the time left; and so many on all twins in turn.
_FIRST_DRAWS, _FIRST_SHARE = 4, 0.1
DRAWS = 24
#: Of the budget, for the statements on all twins in turn.
_MEASURING_SHARE = 0.2
#: The time of reading fewer pages is mostly that of connecting.
_PAGES_MIN = 500
#: Servers are stopped and the answer is made in this time.
_ANSWER_S = 5.0


class _TwinOverBudgetError(RunFailedError):
    """A twin that was being made when the budget ended."""


@dataclass(frozen=True)
class GrowWanted:
    """What is asked. ``began_s`` is of the monotonic clock, ``memory_bytes`` what the original's machine has.

    ``largest`` is the size beyond which no twin is built.
    """

    to: float
    fixed: Collection[str] = ()
    growing: Collection[str] = ()
    budget_s: float = 300.0
    began_s: float = 0.0
    memory_bytes: float | None = None
    largest: float = LARGEST


@dataclass(frozen=True)
class GrowListener:
    """``on_stage`` hears what is being done, ``on_size`` a size before it is built and when it is over, ``on_growth``
    what is known after each size."""

    on_stage: Callable[[str], None] = lambda _: None
    on_planned: Callable[[tuple[TwinSize, ...], GrowthPlan], None] = lambda _sizes, _plan: None
    on_size: Callable[[TwinSize], None] = lambda _: None
    on_growth: Callable[[GrowthForecast], None] = lambda _: None


@dataclass
class GrowRun:
    """The sizes of one twin. ``answer`` gives what is known at any moment."""

    twin: Twin
    binaries: Binaries
    request: GrowWanted
    listener: GrowListener = field(default_factory=GrowListener)

    def __post_init__(self) -> None:
        self.plan = growth_plan(self.twin, max(self.request.to, 8.0), self.request.fixed, self.request.growing)
        self._sizes: dict[float, TwinSize] = {}
        self._measured: dict[int, dict[float, StatementAtSize]] = {}
        self._problems: dict[int, CannotRun] = {}
        self._relations: dict[float, Sizes] = {}
        self._known: dict[int, CalibratedStatement] = {}
        self._trials: dict[float, SizeTrial] = {}
        self._calibrated_at = 1.0
        self._rows_per_s = ROWS_PER_S
        # Pages read into buffers, and the seconds that took, of the twin with the most.
        self._warmed: tuple[int, float] = (0, 0.0)
        self._is_complete = False
        self._smaller: tuple[str, ...] = ()

    @property
    def known(self) -> dict[int, CalibratedStatement]:
        """The statements whose values were found, by query id."""
        return self._known

    def run(self) -> GrowthForecast:
        """Build and measure, as far as the budget goes. Raises RunFailedError, QueryError, UsageError.

        Each twin is looked at as soon as it is there, so that something is known early; in the end all of them are
        measured in turn, statement by statement.
        """
        free = shutil.disk_usage(folder("templates")).free
        planned = planned_sizes(
            self.twin,
            self.plan,
            to=self.request.to,
            budget_s=self._left_s(),
            free_bytes=float(free),
            largest=self.request.largest,
            is_built=self._is_built,
        )
        self._sizes = {one.size: one for one in planned}
        self._calibrated_at = planned[0].size
        self.listener.on_planned(planned, self.plan)
        with ExitStack() as servers:
            for one in planned:
                self._sizes[one.size] = self._one_size(one, servers)
                self.listener.on_size(self._sizes[one.size])
                self.listener.on_growth(self.answer())
            self._measure(tuple(self._trials), draws=DRAWS, share=1.0)
        self._is_complete = all(one.status is SizeStatus.MEASURED for one in self._sizes.values())
        return self.answer()

    def interrupted(self) -> GrowthForecast:
        """What is known; the sizes that have not been measured were interrupted."""
        self._sizes = {
            size: one if one.status is SizeStatus.MEASURED else replace(one, status=SizeStatus.INTERRUPTED)
            for size, one in self._sizes.items()
        }
        return self.answer()

    def answer(self) -> GrowthForecast:
        """From what has been measured so far. Pure but for the clock."""
        request, twin = self.request, self.twin
        counted = {one.query_id: one for one in twin.workload.statements}
        whole_ms = sum(one.total_ms for one in counted.values())
        measured = [
            MeasuredStatement(counted[key], tuple(sizes[size] for size in sorted(sizes)))
            for key, sizes in self._measured.items()
        ]
        visited = {name for sizes in self._measured.values() for one in sizes.values() for name in one.relations}
        relations = grown_relations(twin, self._relations, request.to, visited)
        room = working_set(twin, relations, request.to, request.memory_bytes)
        statements = grown_statements(measured, request.to, whole_ms, self._reads(room))
        per_call = workload_growth(statements)
        return GrowthForecast(
            database=twin.database,
            version=twin.version,
            to=request.to,
            sizes=tuple(self._sizes[size] for size in sorted(self._sizes)),
            kept=self.plan.kept,
            grown_tables=len(self.plan.growing),
            statements=statements,
            unmeasured=self._unmeasured({one.query_id for one in statements}, whole_ms),
            server_time=times(per_call, request.to) if per_call is not None else None,
            per_call=per_call,
            measured_share=sum(one.time_share for one in statements),
            relations=relations,
            working_set=room,
            vacuums=grown_vacuums(twin, self.plan, relations, request.to),
            calibrated_at=self._calibrated_at,
            observed_s=twin.workload.since_s,
            budget_s=request.budget_s,
            spent_s=time.monotonic() - request.began_s,
            is_complete=self._is_complete,
            smaller=self._smaller,
        )

    def _reads(self, room: WorkingSet | None) -> PageReads | None:
        """None where what the plans read fits into shared_buffers at the target, or nobody knows."""
        pages, seconds = self._warmed
        if room is None or room.shared_buffers_bytes is None or pages < _PAGES_MIN:
            return None
        share = 1.0 - room.shared_buffers_bytes / max(room.at_to_bytes, 1.0)
        return PageReads(share, 1000.0 * seconds / pages) if share > 0 else None

    # One size

    def _left_s(self) -> float:
        return self.request.budget_s - (time.monotonic() - self.request.began_s)

    def _is_built(self, size: float) -> bool:
        """Whether an earlier command has left a template with these rows."""
        dataset = TwinDataset(name="", sha256="", rows_sha256=rows_identity(grown(self.twin, self.plan, size)))
        return has_template(self.binaries, dataset.key)

    def _one_size(self, planned: TwinSize, servers: ExitStack) -> TwinSize:
        is_built = self._is_built(planned.size)
        now = estimated(self.twin, self.plan, planned.size, self._rows_per_s, is_built=is_built)
        if self._measured and now.estimated_s + self._measuring_s() > self._left_s():
            return replace(planned, status=SizeStatus.BUDGET)
        if COPIES * planned.estimated_bytes > shutil.disk_usage(folder("templates")).free:
            return replace(planned, status=SizeStatus.DISK)
        self.listener.on_stage(f"building a twin with {planned.size:g} times the rows")
        twin = grown(self.twin, self.plan, planned.size)
        began_s = time.monotonic()
        try:
            dataset = self._built(twin, planned.size)
            built_s = time.monotonic() - began_s
            if not is_built:
                self._rows_per_s = max(1.0, planned.estimated_rows / max(built_s - STARTED_S, 1.0))
            self._start(twin, dataset, planned.size, servers)
            statements = self._measure((planned.size,), draws=_FIRST_DRAWS, share=_FIRST_SHARE)
        except _TwinOverBudgetError:
            return replace(planned, status=SizeStatus.BUDGET)
        except DiskFullError:
            return replace(planned, status=SizeStatus.DISK)
        except PgclinicError as error:
            if not self._measured:
                raise
            return replace(planned, status=SizeStatus.FAILED, detail=error.message.splitlines()[0])
        return replace(
            planned,
            status=SizeStatus.MEASURED,
            rows=planned.estimated_rows,
            bytes=sum(bytes_ for _, _, bytes_ in self._relations[planned.size].values()),
            build_s=built_s,
            measure_s=time.monotonic() - began_s - built_s,
            statements=statements,
        )

    def _measuring_s(self) -> float:
        """What has to be left for the statements on all twins in turn."""
        return _MEASURING_SHARE * self.request.budget_s

    def _built(self, twin: Twin, size: float) -> TwinDataset:
        """The template with the rows. The file of a twin that has grown is needed no longer than that."""
        with temporary_folder("grow") as directory:
            path = directory / f"{twin.database.replace('/', '_')}-{size:g}.twin"
            write_twin(path, twin, masked_text="")
            dataset = keep_twin(path)

        def on_filled(what: str, done: float, total: float) -> None:
            if self._measured and self._left_s() <= 0:
                raise _TwinOverBudgetError("the budget has ended", hint="--budget")
            self.listener.on_stage(f"{size:g} times the rows: {what} ({done:,.0f} of {total:,.0f})")

        try:
            template_of(self.binaries, dataset, on_filled=on_filled)
        finally:
            kept_file(dataset.sha256).unlink(missing_ok=True)
        return dataset

    def _start(self, twin: Twin, dataset: TwinDataset, size: float, servers: ExitStack) -> None:
        """A server with the twin, which runs until all are measured."""
        timeout_s = max(_TIMEOUT_S_MIN, _TIMEOUT_SHARE * self.request.budget_s)
        settings, smaller = fitting_settings(
            known_settings(self.binaries, twin), self.binaries.parsed.major, read_machine().memory_bytes
        )
        self._smaller = (smaller,) if smaller is not None else ()
        session = servers.enter_context(
            measuring_session(self.binaries, dataset, settings, timeout_s, self._heard_warm)
        )
        if not self._known:
            self._find_values(session, twin)
        self._relations[size] = relation_bytes(session)
        self._trials[size] = SizeTrial(session, twin)

    def _heard_warm(self, pages: int, seconds: float) -> None:
        self._warmed = max(self._warmed, (pages, seconds))

    def _measure(self, sizes: Sequence[float], *, draws: int, share: float) -> int:
        """Execute all statements on the twins of these sizes in turn, those with the most time first and longest.

        ``share`` is the part of the time left that may be taken. Returns how many statements ran.
        """
        until_s = time.monotonic() + share * max(self._left_s() - _ANSWER_S, 0.0)
        known = sorted(self._known.values(), key=lambda one: -one.statement.counted.total_ms)
        weights = [one.statement.counted.total_ms for one in known]
        ran = 0
        self.listener.on_stage(f"executing {len(known)} statements on {_sizes_words(sizes)}")
        for number, one in enumerate(known):
            left_s = max(until_s - time.monotonic(), 0.0)
            if not left_s and all(size in self._measured.get(one.statement.counted.query_id, {}) for size in sizes):
                # What was seen when each twin was new has to do.
                continue
            part = weights[number] / (sum(weights[number:]) or 1.0)
            limit_s = left_s * max(part, 1.0 / (2 * (len(known) - number)))
            ran += self._statement(one, sizes, draws, limit_s)
        return ran

    def _find_values(self, session: Session, twin: Twin) -> None:
        self.listener.on_stage("finding values for the statements")
        until_s = time.monotonic() + _VALUES_SHARE * max(self._left_s(), 1.0)
        runnable, omitted = runnable_statements(twin, known_views(session, session.version_num // 10_000))
        self._known = calibrated_in_order(
            session, ValueSource(session, twin), twin, should_stop=lambda: time.monotonic() > until_s
        )
        for one in omitted:
            self._problems[one.query_id] = CannotRun(one.reason, one.detail)
        # Those with the most time came first; what is left when there was no time is none of their values.
        reason = OmissionReason.TIME if time.monotonic() > until_s else OmissionReason.VALUE
        for statement in runnable:
            if statement.counted.query_id not in self._known:
                self._problems[statement.counted.query_id] = CannotRun(reason)

    def _statement(self, one: CalibratedStatement, sizes: Sequence[float], draws: int, limit_s: float) -> bool:
        """What was seen before of the same sizes is replaced: all sizes of a statement are of the same minutes."""
        key = one.statement.counted.query_id
        choices = {
            size: grown_choice(one.statement, one.tried.choice, self.plan, size / self._calibrated_at) for size in sizes
        }
        found = at_sizes(
            {size: self._trials[size] for size in sizes},
            one,
            choices,
            draws,
            limit_s=limit_s,
            should_stop=lambda: self._left_s() <= 0,
        )
        for size, seen in found.items():
            if isinstance(seen, CannotRun):
                self._problems[key] = seen
                self._measured.get(key, {}).pop(size, None)
            else:
                self._measured.setdefault(key, {})[size] = seen
        return any(not isinstance(seen, CannotRun) for seen in found.values())

    def _unmeasured(self, known: Collection[int], whole_ms: float) -> tuple[Unmeasured, ...]:
        found = []
        for one in self.twin.workload.statements:
            if one.query_id in known:
                continue
            problem = self._problems.get(one.query_id)
            if problem is None and one.query_id not in self._known:
                continue
            found.append(
                Unmeasured(
                    query_id=one.query_id,
                    text=one.text,
                    time_share=one.total_ms / (whole_ms or 1.0),
                    reason=(problem.reason if problem is not None else OmissionReason.TIME).value,
                    detail=problem.detail if problem is not None else "",
                )
            )
        return tuple(sorted(found, key=lambda one: (-one.time_share, one.query_id)))


def _sizes_words(sizes: Sequence[float]) -> str:
    return ", ".join(f"{size:g}x" for size in sorted(sizes))
