"""Predictions of ``pgclinic grow`` against a twin that has grown: from 1 to 4 times the rows to 16 times.

    python benches/grow.py --application shop --to 16 --budget 240

The application is captured at work. Its growth is predicted from twins of at most 4 times the rows; then a twin of
``--to`` times the rows is built, and every statement is executed on it and on the one at size 1 in turn. Printed for
each statement: predicted and measured ratio per call of buffers and time, and whether the measured one lies inside the
interval; then how many do, by number and weighted by the original's time.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from applications import NAMES, application, at_work
from pgclinic.capture.twin import capture_twin
from pgclinic.experiment.twin_check import known_settings
from pgclinic.lab.sources import find_source
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.grow import GrownStatement, GrowthForecast, Law, StatementAtSize
from pgclinic.model.twin import Twin
from pgclinic.pg.session import Session
from pgclinic.tune.grow.measure import SizeTrial, at_sizes, measuring_session
from pgclinic.tune.grow.run import DRAWS, GrowListener, GrowRun, GrowWanted
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.grown import grown, grown_choice
from pgclinic.twin.kept_file import keep_twin

LARGEST = 4.0
_TIMEOUT_S = 60.0
_STATEMENT_S = 20.0
_OBSERVED_S = 12.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--application", choices=NAMES, default="shop")
    parser.add_argument("--twin", type=Path, help="a captured twin in place of an application")
    parser.add_argument("--to", type=float, default=16.0)
    parser.add_argument("--budget", type=float, default=240.0, help="seconds for the prediction")
    asked = parser.parse_args()
    twin = read_twin(asked.twin) if asked.twin is not None else captured(asked.application)
    binaries = find_source(str(twin.version_num // 10_000), None).ensure()
    wanted = GrowWanted(to=asked.to, budget_s=asked.budget, began_s=time.monotonic(), largest=LARGEST)
    run = GrowRun(twin, binaries, wanted, GrowListener(on_size=lambda one: print(f"{one.size:g}x {one.status.value}")))
    found = run.run()
    print(f"predicted in {found.spent_s:.0f} s from {', '.join(f'{size:g}x' for size in found.measured_sizes)}")
    began_s = time.monotonic()
    measured = truth(run, asked.to)
    print(f"{asked.to:g}x built and measured in {time.monotonic() - began_s:.0f} s\n")
    compare(found, measured, asked.to)


def captured(name: str) -> Twin:
    """The application's twin after its clients have worked."""
    app = application(name)
    with app.server("18") as running, at_work(app.load(running, clients=2)):
        time.sleep(2.0)
        return capture_twin(app.access(running), observe_s=_OBSERVED_S)


def truth(run: GrowRun, to: float) -> dict[int, tuple[StatementAtSize, StatementAtSize]]:
    """Each statement at size 1 and at ``to``, executed in turn."""
    found = {}
    with ExitStack() as servers:
        trials = {size: SizeTrial(session(run, size, servers), grown(run.twin, run.plan, size)) for size in (1.0, to)}
        for key, one in run.known.items():
            seen = at_sizes(
                trials,
                one,
                {size: grown_choice(one.statement, one.tried.choice, run.plan, size) for size in trials},
                DRAWS,
                limit_s=_STATEMENT_S,
                should_stop=lambda: False,
            )
            pair = seen[1.0], seen[to]
            if isinstance(pair[0], StatementAtSize) and isinstance(pair[1], StatementAtSize):
                found[key] = (pair[0], pair[1])
    return found


def session(run: GrowRun, size: float, servers: ExitStack) -> Session:
    twin = grown(run.twin, run.plan, size)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "grown.twin"
        write_twin(path, twin, masked_text="")
        dataset: TwinDataset = keep_twin(path)
    settings = known_settings(run.binaries, twin)
    return servers.enter_context(measuring_session(run.binaries, dataset, settings, _TIMEOUT_S))


def compare(found: GrowthForecast, measured: dict[int, tuple[StatementAtSize, StatementAtSize]], to: float) -> None:
    inside: dict[str, list[tuple[bool, float]]] = {"buffers": [], "time": []}
    now = then = 0.0
    for one in found.statements:
        if one.query_id not in measured:
            continue
        first, last = measured[one.query_id]
        ratios = {
            "buffers": (one.buffers, max(last.buffers, 0.5) / max(first.buffers, 0.5)),
            "time": (one.time, last.time_ms / first.time_ms),
        }
        now, then = now + one.total_ms, then + one.total_ms * ratios["time"][1]
        words = []
        for name, (law, ratio) in ratios.items():
            is_in = law.at_to.low <= ratio <= law.at_to.high
            inside[name].append((is_in, one.total_ms))
            words.append(f"{name} {said(law)} measured {ratio:.2f} {'in' if is_in else 'OUT'}")
        print(f"{one.time_share:6.1%}  {'; '.join(words)}  {text(one)}")
    for name, seen in inside.items():
        whole = sum(weight for _, weight in seen)
        weighted = sum(weight for is_in, weight in seen if is_in) / whole
        print(f"{name}: {sum(is_in for is_in, _ in seen)} of {len(seen)} inside, {weighted:.1%} of the time")
    if found.per_call is not None and now:
        said_ = found.per_call
        print(
            f"workload at {to:g}x, time per call: predicted {said_.value:.2f} ({said_.low:.2f} to {said_.high:.2f}), "
            f"measured {then / now:.2f}"
        )


def said(law: Law) -> str:
    return f"{law.at_to.value:.2f} ({law.at_to.low:.2f} to {law.at_to.high:.2f})"


def text(one: GrownStatement) -> str:
    return " ".join(one.text.split())[:60]


if __name__ == "__main__":
    main()
