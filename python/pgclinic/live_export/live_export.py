"""Events of a run on their way to receivers: whoever measures only puts them into a queue."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from pgclinic.errors import UsageError
from pgclinic.live_export.figures import RunFigures
from pgclinic.live_export.target import ExportTarget, OtlpTarget, PrometheusTarget, parse_targets
from pgclinic.model.doubt import Doubt
from pgclinic.model.event import Event
from pgclinic.report.parts.visible import visible

#: More than an hour of seconds; a receiver never holds the queue up.
_WAITING_MAX = 5_000
_LIBRARIES = ("prometheus_client", "opentelemetry")
_ENDS_WITHIN_S = 2.0


@dataclass(frozen=True)
class LiveExport:
    """What a run hands its events to, and the doubts of a trial that has ended. Neither ever waits."""

    event: Callable[[Event], None] = field(default=lambda _: None)
    doubts: Callable[[Sequence[Doubt]], None] = field(default=lambda _: None)


NO_EXPORT = LiveExport()


class _Queue:
    """Takes events from whichever thread has them."""

    def __init__(self, figures: RunFigures) -> None:
        self._figures = figures
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(_WAITING_MAX)
        self._thread = threading.Thread(target=self._take_in, name="live export", daemon=True)
        self._thread.start()

    def event(self, event: Event) -> None:
        self._put(partial(self._figures.after, event))

    def doubts(self, doubts: Sequence[Doubt]) -> None:
        self._put(partial(self._figures.doubted, doubts))

    def _put(self, change: Callable[[], None]) -> None:
        try:
            self._waiting.put_nowait(change)
        except queue.Full:
            self._figures.dropped += 1

    def stop(self) -> None:
        """Take in what is there."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=_ENDS_WITHIN_S)
        self._thread.join(_ENDS_WITHIN_S)

    def _take_in(self) -> None:
        while (change := self._waiting.get()) is not None:
            change()


@contextmanager
def exporting(words: Sequence[str], about: Mapping[str, str], say: Callable[[str], None]) -> Iterator[LiveExport]:
    """Export a run to the receivers of ``--export`` meanwhile, and yield what takes its events.

    ``about`` are the labels of the run. ``say`` gets the address to scrape, and once that a receiver does not answer.
    Raises UsageError: no such receiver, an address that cannot be used, or a library that is not installed.
    """
    targets = parse_targets(words)
    if not targets:
        yield NO_EXPORT
        return
    figures = RunFigures()
    shown = {name: visible(value) for name, value in about.items()}
    with ExitStack() as stack:
        for target in targets:
            stack.callback(_started(target, figures, shown, say))
        waiting = _Queue(figures)
        # The last figures are there before the receivers get them for the last time.
        stack.callback(waiting.stop)
        yield LiveExport(waiting.event, waiting.doubts)


def _started(
    target: ExportTarget, figures: RunFigures, about: Mapping[str, str], say: Callable[[str], None]
) -> Callable[[], None]:
    """Start it, and return what ends it."""
    try:
        match target:
            case PrometheusTarget():
                from pgclinic.live_export.prometheus_endpoint import serve_figures

                address, stop = serve_figures(figures, target, about)
                say(f"metrics at {address}")
                return stop
            case OtlpTarget():
                from pgclinic.live_export.otlp_push import push_figures

                return push_figures(figures, target, about, _once(say))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _LIBRARIES:
            raise
        raise UsageError(
            f"--export needs {error.name.partition('.')[0]}", hint="install it with: pip install 'pgclinic[export]'"
        ) from error


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Says the first thing alone."""
    said = threading.Event()

    def first(text: str) -> None:
        if not said.is_set():
            said.set()
            say(text)

    return first
