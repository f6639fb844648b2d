#!/usr/bin/env python3
"""How long a server of the lab takes from the call to its first answered query, and to stop. Seconds."""

from __future__ import annotations

import argparse
import statistics
import time

from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.pg.session import Access, Session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", nargs="*", default=["18", "17", "14", "13"])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    print(f"{'version':<10}{'start median':>14}{'start worst':>14}{'stop median':>14}")
    for version in options.versions:
        binaries = find_source(version).ensure()
        # The first start of a version makes its empty cluster, which is not what is timed.
        start_server(binaries, settings={}).stop()
        starts, stops = [], []
        for _ in range(options.runs):
            began = time.perf_counter()
            running = start_server(binaries, settings={})
            with Session(
                Access(running.server), statement_timeout_ms=5000, application_name="bench", users_search_path=True
            ) as session:
                session.row("select 1")
            starts.append(time.perf_counter() - began)
            began = time.perf_counter()
            running.stop()
            stops.append(time.perf_counter() - began)
        print(
            f"{binaries.version:<10}{statistics.median(starts):>13.3f}s{max(starts):>13.3f}s"
            f"{statistics.median(stops):>13.3f}s"
        )


if __name__ == "__main__":
    main()
