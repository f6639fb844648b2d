"""``--export``: which receiver, and where. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pgclinic.errors import UnknownNameError, UsageError

KINDS = ("prometheus", "otlp")
_PROMETHEUS = "prometheus:127.0.0.1:9187"
_OTLP = "otlp:http://127.0.0.1:4318"
_METRICS_PATH = "/v1/metrics"
_PORT_MAX = 65_535


@dataclass(frozen=True)
class PrometheusTarget:
    """An address at which Prometheus may scrape; port 0 is any free one."""

    host: str
    port: int


@dataclass(frozen=True)
class OtlpTarget:
    """The address that gets metrics by OTLP over HTTP."""

    url: str


ExportTarget = PrometheusTarget | OtlpTarget


def parse_targets(words: Sequence[str]) -> tuple[ExportTarget, ...]:
    """``prometheus:127.0.0.1:9187`` and ``otlp:http://127.0.0.1:4318`` as targets, each kind at most once.

    Raises UsageError, also for an address that other machines can reach.
    """
    targets = tuple(map(_parsed, words))
    if len({type(target) for target in targets}) < len(targets):
        raise UsageError("--export names the same kind of receiver twice", hint=f"{_PROMETHEUS} and {_OTLP}")
    return targets


def _parsed(text: str) -> ExportTarget:
    kind, _, place = text.partition(":")
    if kind not in KINDS:
        raise UnknownNameError("receiver", kind, KINDS, where="--export")
    return _prometheus(text, place) if kind == "prometheus" else _otlp(text, place)


def _prometheus(text: str, place: str) -> PrometheusTarget:
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > _PORT_MAX:
        raise UsageError(f"--export {text!r} has no address and port", hint=f"write {_PROMETHEUS}")
    _refuse_others(text, host)
    return PrometheusTarget(host, int(port))


def _otlp(text: str, url: str) -> OtlpTarget:
    try:
        parts = urlsplit(url)
        host, has_port = parts.hostname, parts.port is not None
    except ValueError:
        host, has_port = None, False
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError("--export otlp: this is not a URL", hint=f"write {_OTLP}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "--export takes no password", hint="set OTEL_EXPORTER_OTLP_HEADERS for what the collector asks"
        )
    _refuse_others(text, host)
    base = f"{parts.scheme}://{parts.netloc}{'' if has_port else ':4318'}"
    return OtlpTarget(base + (parts.path if parts.path.strip("/") else _METRICS_PATH))


def _refuse_others(text: str, host: str) -> None:
    """Raise UsageError for an address of another machine: figures and names of arms would leave this one in clear."""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not is_loopback:
        raise UsageError(
            f"--export {text!r} is not an address of the loopback interface",
            hint="use 127.0.0.1, and an agent or an SSH tunnel for what leaves this machine",
        )
