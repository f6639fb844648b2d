"""The pages: the list of runs, each run, two side by side; and the events by which they stay up to date."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from pgclinic.errors import PgclinicError, UsageError
from pgclinic.model.bench import BenchResult
from pgclinic.model.output import RunOutput, RunState
from pgclinic.report.kept_run import bench_text, judged_run, rendered_run
from pgclinic.report.live.page import compile_templates, cost_words, live_data, live_page, runs_page, with_way_back
from pgclinic.report.runs.filter import RunFilter
from pgclinic.report.runs.two_runs import side_by_side, side_by_side_page
from pgclinic.serve.follow import FollowedRun
from pgclinic.serve.kept_runs import KeptRuns
from pgclinic.serve.own_cost import OwnCost
from pgclinic.store.run_list import FoundRun, found_run

POLL_S = 0.5
_COST_S = 5.0
#: A proxy between server and browser closes what is silent.
_SILENT_S = 15.0
_FOLLOWED_MAX = 4
_PAGES_KEPT = 8


def pages(parent: Path, is_stopping: Callable[[], bool]) -> Starlette:
    """The application. It reads ``parent`` now, and while a page is open; ``is_stopping`` ends those that are."""
    served = _Served(parent, is_stopping)
    return Starlette(
        routes=[
            Route("/", served.runs),
            Route("/events", served.runs_events),
            Route("/compare", served.two_runs),
            Route("/runs/{name}", served.run),
            Route("/runs/{name}/report", served.report),
            Route("/runs/{name}/events", served.run_events),
        ],
        exception_handlers={PgclinicError: _in_words},
    )


async def _in_words(_: Request, error: Exception) -> Response:
    """An error as text: a name that is not known, a run that cannot be read."""
    assert isinstance(error, PgclinicError)
    text = f"{error.message}\n" + (f"{error.hint}\n" if error.hint else "")
    return PlainTextResponse(text, 404 if isinstance(error, UsageError) else 500)


class _Served:
    """What all requests share: the list of runs, and those that are followed."""

    def __init__(self, parent: Path, is_stopping: Callable[[], bool]) -> None:
        self._runs = KeptRuns(parent)
        # The first page is not to wait for it: of a thousand runs it takes a second.
        self._runs.refresh()
        # The first page needs few of them, and is answered meanwhile.
        threading.Thread(target=compile_templates, daemon=True).start()
        self._cost = OwnCost()
        self._is_stopping = is_stopping
        self._refreshed_s = 0.0
        self._refreshing = asyncio.Lock()
        self._rendering = asyncio.Lock()
        self._followed: dict[tuple[str, int], FollowedRun] = {}

    async def runs(self, request: Request) -> Response:
        await self._refresh(0.0)
        kind, answer, server, machine = (
            request.query_params.get(name) or None for name in ("kind", "answer", "server", "machine")
        )
        chosen = RunFilter.asked(kind, answer, server=server, machine=machine)
        listed = self._runs.newest_first()
        page = runs_page(listed, chosen, _now_us(), revision=self._runs.revision, cost=self._cost.now())
        return HTMLResponse(page)

    async def runs_events(self, request: Request) -> Response:
        seen = request.query_params.get("seen")

        async def changes() -> AsyncIterator[str]:
            shown = seen
            async for _ in self._polls():
                revision = str(self._runs.revision)
                yield _event(revision, "changed") if revision != shown else ""
                shown = revision

        return _stream(changes())

    async def two_runs(self, request: Request) -> Response:
        await self._refresh(0.0)
        asked = request.query_params
        names = [*asked.getlist("run"), *asked.getlist("a"), *asked.getlist("b")]
        if len(names) != 2:
            raise UsageError("choose exactly two runs to compare")
        paths = [Path(self._runs.named(name).path) for name in names]

        def page() -> str:
            a, b = (judged_run(found_run(path)) for path in paths)
            return side_by_side_page(side_by_side(a, b))

        return HTMLResponse(with_way_back(await asyncio.to_thread(page)))

    async def run(self, request: Request) -> Response:
        await self._refresh(0.0)
        run = self._runs.named(request.path_params["name"])
        text = None
        if run.state is not RunState.RUNNING:
            try:
                return HTMLResponse(await self._report(run))
            except PgclinicError as error:
                text = _instead(found_run(Path(run.path)), error)
        followed = self._follow(run)
        if followed is None:
            return PlainTextResponse(f"{text}\n", 500)
        await asyncio.to_thread(followed.read)
        state = _state(run, followed)
        page = live_page(run, followed.live, _now_us(), state=state, cost=self._cost.now(), text=text)
        return HTMLResponse(page)

    async def report(self, request: Request) -> Response:
        """The report, also of a run that is still being written: what it has so far."""
        await self._refresh(0.0)
        return HTMLResponse(await self._report(self._runs.named(request.path_params["name"])))

    async def run_events(self, request: Request) -> Response:
        await self._refresh(0.0)
        name, asked = request.path_params["name"], request.query_params
        followed = self._follow(self._runs.named(name))
        state, seen = asked.get("state"), request.headers.get("last-event-id") or asked.get("seen", "")
        if followed is None or not seen.isdecimal():
            raise UsageError(f"{name} has no events that can be followed")
        return _stream(self._news(name, followed, state, int(seen)))

    async def _news(self, name: str, followed: FollowedRun, state: str | None, seen: int) -> AsyncIterator[str]:
        """What the page of a run has not yet: parts that have changed, new points, and that it shows another state."""
        sent: dict[str, str] = {}
        cost_at_s = 0.0
        async for _ in self._polls():
            try:
                followed.read()
                turned = _state(self._runs.named(name), followed) != state
            except PgclinicError:
                turned = True
            if turned:
                yield _event("", "turned")
                return
            parts = followed.parts()
            if time.monotonic() - cost_at_s >= _COST_S:
                cost_at_s = time.monotonic()
                parts["cost"] = cost_words(self._cost.now())
            parts = {part: html for part, html in parts.items() if sent.get(part) != html}
            news = live_data(followed.live, seen)
            if not parts and not news["points"]:
                yield ""
                continue
            sent |= parts
            seen = len(followed.live.points)
            yield f"id: {seen}\n" + _event(msgspec.json.encode({"parts": parts, **news}).decode())

    async def _polls(self) -> AsyncIterator[None]:
        """Come back twice a second with the list read anew, until the server stops."""
        while not self._is_stopping():
            await self._refresh(POLL_S)
            yield
            await asyncio.sleep(POLL_S)

    async def _refresh(self, older_than_s: float) -> None:
        """Read the list anew, once for all pages that are open."""
        async with self._refreshing:
            if time.monotonic() - self._refreshed_s >= 0.9 * older_than_s:
                await asyncio.to_thread(self._runs.look if older_than_s else self._runs.refresh)
                self._refreshed_s = time.monotonic()

    async def _report(self, run: RunOutput) -> str:
        path = Path(run.path)
        # All pages of a run that ends ask for its report at the same moment: the first one makes it for all.
        async with self._rendering:
            return await asyncio.to_thread(lambda: with_way_back(_rendered(path, _changed(path))))

    def _follow(self, run: RunOutput) -> FollowedRun | None:
        """None for a run that cannot be read."""
        if run.started_epoch_us is None:
            return None
        key = run.path, run.started_epoch_us
        if key not in self._followed:
            while len(self._followed) >= _FOLLOWED_MAX:
                del self._followed[next(iter(self._followed))]
            self._followed[key] = FollowedRun(Path(run.path), run.started_epoch_us, run.kind)
        return self._followed[key]


def _state(run: RunOutput, followed: FollowedRun) -> str:
    """What decides which page a run has: a block that runs again takes back what it had drawn."""
    return f"{run.state.value}-{followed.live.repeated}"


@lru_cache(_PAGES_KEPT)
def _rendered(path: Path, changed: tuple[int, ...]) -> str:
    """The report as its files were at ``changed``. Raises UsageError, RunFailedError."""
    return rendered_run(found_run(path)).html()


def _changed(path: Path) -> tuple[int, ...]:
    """When a run was last written to."""
    files = (path, path / "trials", path / "events.jsonl")
    return tuple(file.stat().st_mtime_ns for file in files if file.exists())


def _instead(found: FoundRun, error: PgclinicError) -> str | None:
    """What is shown of a run that has no page: the figures of a load that was not observed, or what is damaged."""
    if isinstance(found.answer, BenchResult):
        return bench_text(found.answer)
    return None if found.answer is None and isinstance(error, UsageError) else error.message


def _now_us() -> int:
    return time.time_ns() // 1000


def _event(data: str, kind: str = "message") -> str:
    return f"event: {kind}\ndata: {data}\n\n"


def _stream(events: AsyncIterator[str]) -> StreamingResponse:
    """Events as they come; a comment where there are none for long."""

    async def lines() -> AsyncIterator[str]:
        sent_s = time.monotonic()
        yield "retry: 1000\n\n"
        async for event in events:
            if event or time.monotonic() - sent_s >= _SILENT_S:
                sent_s = time.monotonic()
                yield event or ": waiting\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")
