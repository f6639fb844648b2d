"""Histograms in the HDR V2 interchange form, as other tools write them."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest

from pgclinic.stats.hdr import decode_histogram


def written(counts: bytes, *, cookie: int = 0x1C849303, outer: int = 0x1C849304, digits: int = 3) -> str:
    plain = struct.pack(">iiiiqqd", cookie | 0x10, len(counts), 0, digits, 1, 3_600_000_000, 1.0) + counts
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">ii", outer | 0x10, len(packed)) + packed).decode()


def test_counts_are_zigzag_numbers_and_negative_ones_are_runs_of_zeros() -> None:
    """Three values of 1, then 4 zeros, 200 values of 6 (in two bytes) and one of 7."""
    found = decode_histogram(written(bytes([0x01, 0x06, 0x07, 0x90, 0x03, 0x02])))
    assert found.counts == ((1, 3), (6, 200), (7, 1))
    assert (found.total, found.percentile(0), found.percentile(50), found.percentile(100)) == (204, 1, 6, 7)
    assert found.mean() == pytest.approx((3 + 1200 + 7) / 204)
    assert found.stddev() == pytest.approx(((3 * 1 + 200 * 36 + 49) / 204 - (1210 / 204) ** 2) ** 0.5)


def test_a_wide_bucket_counts_as_its_highest_value_and_its_middle() -> None:
    """With one digit 32 buckets are exact; from 32 on each has two values."""
    found = decode_histogram(written(bytes([0x3F, 0x02]), digits=1))
    assert (found.counts, found.middles) == (((33, 1),), (33.0,))


def test_an_empty_histogram_has_no_values() -> None:
    for text in ("", written(b"")):
        found = decode_histogram(text)
        assert (found.total, found.percentile(99), found.mean(), found.stddev()) == (0, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no base64!", "damaged HDR histogram"),
        ("AAAA", "damaged HDR histogram"),
        (written(b"\x02", outer=0x1C849300 + 1), "no compressed HDR histogram"),
        (written(b"\x02", cookie=0x1C849301), "no HDR histogram of version 2"),
        (written(b"\x02", digits=6), "no HDR histogram of version 2"),
    ],
)
def test_what_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_histogram(text)
