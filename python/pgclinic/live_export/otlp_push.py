"""Figures pushed by OTLP over HTTP, by OpenTelemetry's SDK: the only module that knows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.semconv.attributes.db_attributes import DB_SYSTEM_NAME, DbSystemNameValues

from pgclinic import __version__
from pgclinic.live_export.figures import FIGURES, ExportedFigure, FigureKind, RunFigures
from pgclinic.live_export.target import OtlpTarget

#: As often as there are new seconds, and a receiver that hangs for longer than this is given up, each time.
EVERY_S = 1.0
ANSWERS_WITHIN_S = 2.0


def push_figures(
    figures: RunFigures, target: OtlpTarget, about: Mapping[str, str], on_failure: Callable[[str], None]
) -> Callable[[], None]:
    """Push them every second until the function that is returned is called, which pushes once more.

    ``about`` describes the run. ``on_failure`` gets words each time that the receiver does not take them.
    """
    # Its words come by on_failure, once, and not among those of the run.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    exporter = _Exporter(target, on_failure)
    reader = PeriodicExportingMetricReader(exporter, EVERY_S * 1000, ANSWERS_WITHIN_S * 1000)
    resource = Resource(
        {
            SERVICE_NAME: "pgclinic",
            SERVICE_VERSION: __version__,
            DB_SYSTEM_NAME: DbSystemNameValues.POSTGRESQL.value,
            **{f"pgclinic.{name}": value for name, value in about.items()},
        }
    )
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    meter = provider.get_meter("pgclinic", __version__)
    for figure in FIGURES:
        make = meter.create_observable_counter if figure.kind is FigureKind.COUNTER else meter.create_observable_gauge
        make(f"pgclinic.{figure.name}", [partial(_observed, figures, figure)], figure.unit, figure.help)
    return partial(provider.shutdown, ANSWERS_WITHIN_S * 1000)


def _observed(figures: RunFigures, figure: ExportedFigure, _: CallbackOptions) -> Iterable[Observation]:
    return [Observation(point.value, dict(point.labels)) for point in figures.points(figure)]


class _Exporter(OTLPMetricExporter):
    """Says in words that a push has failed; the SDK itself only logs it."""

    def __init__(self, target: OtlpTarget, on_failure: Callable[[str], None]) -> None:
        super().__init__(target.url, timeout=ANSWERS_WITHIN_S)
        self._url = target.url
        self._on_failure = on_failure

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **kwargs)
        if result is not MetricExportResult.SUCCESS:
            self._on_failure(f"--export: {self._url} does not take the figures; the run goes on without them")
        return result
