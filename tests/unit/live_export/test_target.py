"""Which receivers --export takes."""

from __future__ import annotations

import pytest

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.live_export.target import OtlpTarget, PrometheusTarget, parse_targets


def test_both_kinds_of_receivers() -> None:
    assert parse_targets(("prometheus:127.0.0.1:9187", "otlp:http://localhost:4318")) == (
        PrometheusTarget("127.0.0.1", 9187),
        OtlpTarget("http://localhost:4318/v1/metrics"),
    )
    assert parse_targets(("prometheus:[::1]:0",)) == (PrometheusTarget("::1", 0),)
    assert parse_targets(("otlp:http://127.0.0.1",)) == (OtlpTarget("http://127.0.0.1:4318/v1/metrics"),)
    assert parse_targets(("otlp:https://[::1]:1/other/path",)) == (OtlpTarget("https://[::1]:1/other/path"),)
    assert parse_targets(()) == ()


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("prometheus:0.0.0.0:9187", "loopback"),
        ("prometheus:10.0.0.1:9187", "loopback"),
        ("otlp:http://collector.example:4318", "loopback"),
        ("prometheus:127.0.0.1", "no address and port"),
        ("prometheus:127.0.0.1:99999", "no address and port"),
        ("prometheus", "no address and port"),
        ("otlp:127.0.0.1:4318", "not a URL"),
        ("otlp:grpc://127.0.0.1:4317", "not a URL"),
        ("otlp:http://127.0.0.1:port", "not a URL"),
        ("otlp:http://user:s3cret@127.0.0.1:4318", "takes no password"),
    ],
)
def test_what_cannot_be_a_receiver(word: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        parse_targets((word,))
    assert refused.value.hint is not None
    assert "s3cret" not in f"{refused.value.message} {refused.value.hint}"


def test_the_nearest_kind_is_named() -> None:
    with pytest.raises(UnknownNameError) as refused:
        parse_targets(("promethius:127.0.0.1:1",))
    assert refused.value.nearest == "prometheus"


def test_each_kind_once() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_targets(("prometheus:127.0.0.1:1", "prometheus:127.0.0.1:2"))
