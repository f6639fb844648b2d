"""Reading histograms in the HDR V2 interchange form: base64 of a compressed list of bucket counts."""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache

_COMPRESSED_COOKIE = 0x1C849304
_PLAIN_COOKIE = 0x1C849303
_COOKIE_MASK = ~0xF0
_HEADER = struct.Struct(">iiiiqqd")


@dataclass(frozen=True)
class Buckets:
    """``counts`` are pairs of the highest value of a bucket and how often it was seen, in rising order."""

    counts: tuple[tuple[int, int], ...]
    #: The middle of each bucket, for means.
    middles: tuple[float, ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    def percentile(self, percent: float) -> int:
        """The highest value that is equivalent to the one at this percentile; 0 when there is none."""
        total = self.total
        wanted = max(1, math.ceil(total * percent / 100 - 1e-9))
        seen = 0
        for value, count in self.counts:
            seen += count
            if seen >= wanted:
                return value
        return 0

    def mean(self) -> float:
        total = self.total
        return sum(m * c for m, (_, c) in zip(self.middles, self.counts, strict=True)) / total if total else 0.0

    def stddev(self) -> float:
        """Of the values as their buckets know them."""
        total, mean = self.total, self.mean()
        if not total:
            return 0.0
        squares = sum((m - mean) ** 2 * c for m, (_, c) in zip(self.middles, self.counts, strict=True))
        return math.sqrt(squares / total)


@lru_cache(maxsize=256)
def decode_histogram(text: str) -> Buckets:
    """Read one histogram; an empty text is an empty histogram. Raises ValueError for what is none."""
    if not text:
        return Buckets((), ())
    try:
        outer = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", outer)
        if cookie & _COOKIE_MASK != _COMPRESSED_COOKIE:
            raise ValueError("this is no compressed HDR histogram of version 2")
        plain = zlib.decompress(outer[8 : 8 + length])
        cookie, length, _, digits, lowest, _, _ = _HEADER.unpack_from(plain)
    except (binascii.Error, struct.error, zlib.error) as error:
        raise ValueError(f"damaged HDR histogram: {error}") from error
    if cookie & _COOKIE_MASK != _PLAIN_COOKIE or not 0 <= digits <= 5:
        raise ValueError("this is no HDR histogram of version 2")
    return _buckets(_counts(plain[_HEADER.size : _HEADER.size + length]), digits, max(1, lowest))


def _counts(payload: bytes) -> list[tuple[int, int]]:
    """Pairs of index and count. Counts are zig-zag LEB128 of at most 9 bytes; a negative one is a run of zeros."""
    found: list[tuple[int, int]] = []
    at = index = 0
    while at < len(payload):
        value = shift = 0
        for position in range(9):
            byte = payload[at]
            at += 1
            if position == 8:
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        count = (value >> 1) ^ -(value & 1)
        if count < 0:
            index -= count
        else:
            if count:
                found.append((index, count))
            index += 1
    return found


def _buckets(counts: list[tuple[int, int]], digits: int, lowest: int) -> Buckets:
    unit_magnitude = lowest.bit_length() - 1
    sub_bucket_magnitude = math.ceil(math.log2(2 * 10**digits))
    half_magnitude = max(sub_bucket_magnitude, 1) - 1
    half = 1 << half_magnitude
    rows, middles = [], []
    for index, count in counts:
        bucket, sub_bucket = (index >> half_magnitude) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub_bucket = 0, sub_bucket - half
        low = sub_bucket << (bucket + unit_magnitude)
        width = 1 << (bucket + unit_magnitude)
        rows.append((low + width - 1, count))
        middles.append(low + (width >> 1) if width > 1 else float(low))
    return Buckets(tuple(rows), tuple(float(middle) for middle in middles))
