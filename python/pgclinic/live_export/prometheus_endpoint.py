"""Figures for a scrape by Prometheus, by its client library: the only module that knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgclinic.errors import UsageError
from pgclinic.live_export.figures import FIGURES, LATENCY, ExportedFigure, FigureKind, RunFigures
from pgclinic.live_export.target import PrometheusTarget

#: Figures whose unit is in their name by Prometheus's conventions, and those whose name says more there.
_NAMES = {
    "transaction.rate": "transactions_per_second",
    "transaction.duration": "transaction_duration_seconds",
    "measured.time": "measured_seconds",
    "transaction.failures": "transactions_failed",
    "transaction.buffer_hits": "buffer_hits_per_transaction",
    "time.left": "left_seconds",
}
_ENDS_WITHIN_S = 2.0


def prometheus_name(figure: ExportedFigure) -> str:
    """``pgclinic_transaction_duration_seconds``; the library adds ``_total`` to counters."""
    return f"pgclinic_{_NAMES.get(figure.name, figure.name.replace('.', '_'))}"


def serve_figures(
    figures: RunFigures, target: PrometheusTarget, about: Mapping[str, str]
) -> tuple[str, Callable[[], None]]:
    """Serve them until the function that is returned is called; the text is the address to scrape.

    ``about`` labels the run. Raises UsageError: the address cannot be listened on.
    """
    registry = CollectorRegistry()
    registry.register(_Figures(figures, about))
    try:
        server, thread = start_http_server(target.port, target.host, registry)
    except OSError as error:
        place = f"{target.host}:{target.port}"
        raise UsageError(
            f"--export: cannot listen on {place}: {error.strerror}", hint="choose another port; 0 is any free one"
        ) from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(_ENDS_WITHIN_S)

    # One that reads slowly has a thread of its own, a daemon for which nobody waits.
    shown = f"[{target.host}]" if ":" in target.host else target.host
    return f"http://{shown}:{server.server_port}/metrics", stop


class _Figures(Collector):
    """Read when a scrape comes: between scrapes nothing is done."""

    def __init__(self, figures: RunFigures, about: Mapping[str, str]) -> None:
        self._figures = figures
        self._about = dict(about)

    def collect(self) -> Iterator[Metric]:
        run = GaugeMetricFamily("pgclinic_run_info", "The run that is going on", labels=list(self._about))
        run.add_metric(list(self._about.values()), 1)
        yield run
        for figure in FIGURES:
            points = self._figures.points(figure)
            if points:
                labels = [name for name, _ in points[0].labels]
                family = CounterMetricFamily if figure.kind is FigureKind.COUNTER else GaugeMetricFamily
                made = family(prometheus_name(figure), _help(figure), labels=labels)
                for point in points:
                    made.add_metric([value for _, value in point.labels], point.value)
                yield made


def _help(figure: ExportedFigure) -> str:
    return figure.help + (", in seconds" if figure is LATENCY else "")
