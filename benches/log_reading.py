#!/usr/bin/env python3
"""How fast a server's log is read into events, in MB/s: a log of which nearly every line is a logged statement.

By the clock, and by the time of the processor, which other programs on the machine disturb less. Such a log is what
log_statement = all leaves. The events are those of the recorded logs of tests/fixtures, repeated.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from pgclinic.model.log import LogSettings
from pgclinic.pg.log.follow import LogFollower

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "logs"
MAJOR = "18"
DULL = {
    ".log": "2026-11-21 10:40:58 UTC:[local]:app@shop:[{pid}]:client backend:{query}: LOG:  statement: {text}\n",
    ".csv": (
        '2026-11-21 10:40:58.{ms:03} UTC,"app","shop",{pid},"[local]",6b0174ea.{pid:x},{line},"UPDATE",'
        '2026-11-21 10:39:00 UTC,5/{line},0,LOG,00000,"statement: {text}",,,,,,,,,"app",'
        '"client backend",,{query}\n'
    ),
    ".json": (
        '{{"timestamp":"2026-11-21 10:40:58.{ms:03} UTC","user":"app","dbname":"shop","pid":{pid},'
        '"remote_host":"[local]","session_id":"6b0174ea.{pid:x}","line_num":{line},"ps":"UPDATE",'
        '"session_start":"2026-11-21 10:39:00 UTC","vxid":"5/{line}","txid":0,"error_severity":"LOG",'
        '"message":"statement: {text}","application_name":"app server","backend_type":"client backend",'
        '"query_id":{query}}}\n'
    ),
}


def write_log(path: Path, size_mb: int, share: float) -> None:
    """Blocks of dull lines, and between them the recorded log so often that its lines make up ``share``."""
    recorded = (FIXTURES / MAJOR).with_suffix(path.suffix).read_bytes()
    dull_lines = round(recorded.count(b"\n") * (1 / share - 1))
    draw = random.Random(1)
    # A few thousand different lines, repeated, are as dull as any.
    lines = [_dull(path.suffix, draw).encode() for _ in range(5000)]
    block = b"".join(lines[number % len(lines)] for number in range(dull_lines)) + recorded
    with path.open("wb") as stream:
        while stream.tell() < size_mb * 1_000_000:
            stream.write(block)


def _dull(suffix: str, draw: random.Random) -> str:
    account = draw.randrange(10_000_000)
    text = f"UPDATE accounts SET balance = balance + {draw.randrange(5000)} WHERE id = {account} AND note = 'a:  b';"
    return DULL[suffix].format(
        pid=draw.randrange(10_000, 99_999),
        query=draw.randrange(10**18, 9 * 10**18),
        line=draw.randrange(1, 99_999),
        ms=draw.randrange(1000),
        text=text,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size-mb", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.001, help="share of lines that belong to events")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    about = json.loads((FIXTURES / "recorded.json").read_text())[MAJOR]
    settings = msgspec.convert(about, LogSettings)
    print(f"{'format':<8}{'size':>10}{'events':>10}{'median':>14}{'worst':>14}{'median by CPU':>17}")
    for suffix in DULL:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"bench{suffix}"
            write_log(path, options.size_mb, options.share)
            size = path.stat().st_size / 1e6
            rates, cpu_rates, events = [], [], 0
            for _ in range(options.runs):
                began, cpu_began = time.perf_counter(), time.process_time()
                events = sum(1 for _ in LogFollower(path, settings).poll())
                rates.append(size / (time.perf_counter() - began))
                cpu_rates.append(size / (time.process_time() - cpu_began))
            print(
                f"{suffix[1:]:<8}{size:>7.0f} MB{events:>10}{statistics.median(rates):>9.0f} MB/s"
                f"{min(rates):>9.0f} MB/s{statistics.median(cpu_rates):>12.0f} MB/s"
            )


if __name__ == "__main__":
    main()
