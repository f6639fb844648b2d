"""Predictions of ``pgclinic grow`` against what has grown: from 1 to 4 times the rows to 16 times.

    python benches/grow.py --application shop --to 16 --budget 240 --truth original

The application is captured at work. Its growth is predicted from twins of at most 4 times the rows.

With ``--truth original`` the application itself is then made at ``--to`` times its rows, by its generator. Its clients
work on it and on the application at size 1 in turn, and pg_stat_statements of both says what a call takes. With
``--truth twin`` a twin of that size is built, and every statement is executed on it and on the one at size 1 in turn.

Printed for each statement: predicted and measured ratio per call of buffers and time, and whether the measured one lies
inside the interval; then how many do, by number and weighted by the original's time. ``--base`` is the size of what is
captured, in rows of the application, or in warehouses.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from applications import NAMES, SETTINGS, Application, at_work
from pgclinic.capture.twin import capture_twin
from pgclinic.experiment.twin_check import known_settings
from pgclinic.lab.instance import RunningServer
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
from scaled_applications import FIXED, GROWING, scaled_application

Counted = dict[str, "PerCall"]
LARGEST = 4.0
_TIMEOUT_S = 60.0
_STATEMENT_S = 20.0
_OBSERVED_S = 12.0
_MAJOR = "18"
#: Clients work so long on each original before statements are counted, then so often on one after the other.
_WARM_UP_S, _ROUNDS = 10.0, 3
_COUNTED = (
    "select query, calls, shared_blks_hit + shared_blks_read + local_blks_hit + local_blks_read + temp_blks_read "
    "+ temp_blks_written, total_exec_time "
    "from pg_stat_statements s join pg_database d on d.oid = s.dbid "
    "where d.datname = current_database() and calls > 0"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--application", choices=NAMES, default="shop")
    parser.add_argument("--twin", type=Path, help="a captured twin in place of an application")
    parser.add_argument("--to", type=float, default=16.0)
    parser.add_argument("--base", type=float, default=1.0, help="what is captured, in rows of the application")
    parser.add_argument("--truth", choices=("original", "twin"), default="twin")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds for the prediction")
    parser.add_argument("--seconds", type=float, default=60.0, help="that clients work on each original")
    asked = parser.parse_args()
    if asked.twin is not None and asked.truth == "original":
        parser.error("a captured twin has no generator: --truth twin")
    name = asked.application
    twin = read_twin(asked.twin) if asked.twin is not None else captured(scaled_application(name, asked.base))
    binaries = find_source(str(twin.version_num // 10_000), None).ensure()
    wanted = GrowWanted(
        to=asked.to,
        fixed=FIXED[name] if asked.twin is None else (),
        growing=GROWING[name] if asked.twin is None else (),
        budget_s=asked.budget,
        began_s=time.monotonic(),
        largest=LARGEST,
    )
    run = GrowRun(twin, binaries, wanted, GrowListener(on_size=lambda one: print(f"{one.size:g}x {one.status.value}")))
    found = run.run()
    print(f"predicted in {found.spent_s:.0f} s from {', '.join(f'{size:g}x' for size in found.measured_sizes)}")
    began_s = time.monotonic()
    if asked.truth == "original":
        measured = of_originals(run, name, (asked.base, asked.base * asked.to), asked.seconds)
    else:
        measured = of_twins(run, asked.to)
    print(f"{asked.to:g}x built and measured in {time.monotonic() - began_s:.0f} s\n")
    compare(found, measured, asked.to)


def captured(app: Application) -> Twin:
    """The application's twin after its clients have worked."""
    with app.copied_server(_MAJOR) as running, at_work(app.load(running, clients=2)):
        time.sleep(2.0)
        return capture_twin(app.access(running), observe_s=_OBSERVED_S)


@dataclass(frozen=True)
class PerCall:
    """A statement on one server: buffers that a call visits and its time in ms."""

    buffers: float
    time_ms: float


def of_originals(
    run: GrowRun, name: str, sizes: tuple[float, float], seconds: float
) -> dict[int, tuple[PerCall, PerCall]]:
    """Each statement on the application of either size, while two clients work on one after the other."""
    counted: list[Counted] = [{}, {}]
    with ExitStack() as servers:
        apps = [scaled_application(name, size) for size in sizes]
        running = [servers.enter_context(app.copied_server(_MAJOR, SETTINGS)) for app in apps]
        for app, one in zip(apps, running, strict=True):
            at_rest(app, one, seconds=_WARM_UP_S)
        for round_ in range(_ROUNDS):
            order = (0, 1) if round_ % 2 == 0 else (1, 0)
            for at in order:
                worked(apps[at], running[at], seconds / _ROUNDS)
        for at in (0, 1):
            counted[at] = statements_of(apps[at], running[at])
    texts = {one.query_id: one.text for one in run.twin.workload.statements}
    found = {}
    for key, text_ in texts.items():
        first, last = (one.get(" ".join(text_.split())) for one in counted)
        if first is not None and last is not None:
            found[key] = (first, last)
    return found


def at_rest(app: Application, running: RunningServer, seconds: float) -> None:
    """Its buffers are warm, and statements are counted from now on."""
    worked(app, running, seconds)
    with app.session(running) as client:
        client.execute("select pg_stat_statements_reset()")


def worked(app: Application, running: RunningServer, seconds: float) -> None:
    with at_work(app.load(running, clients=2)):
        time.sleep(seconds)


def statements_of(app: Application, running: RunningServer) -> Counted:
    """By text without line breaks; a text of several statements of the server, as in functions, is taken together."""
    sums: dict[str, list[float]] = {}
    with app.session(running) as client:
        for text_, calls, buffers, time_ms in client.rows(_COUNTED):
            own = sums.setdefault(" ".join(str(text_).split()), [0.0, 0.0, 0.0])
            for at, value in enumerate((calls, buffers, time_ms)):
                own[at] += float(value)
    return {key: PerCall(buffers / calls, time_ms / calls) for key, (calls, buffers, time_ms) in sums.items()}


def of_twins(run: GrowRun, to: float) -> dict[int, tuple[PerCall, PerCall]]:
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
            first, last = seen[1.0], seen[to]
            if isinstance(first, StatementAtSize) and isinstance(last, StatementAtSize):
                found[key] = (PerCall(first.buffers, first.time_ms), PerCall(last.buffers, last.time_ms))
    return found


def session(run: GrowRun, size: float, servers: ExitStack) -> Session:
    twin = grown(run.twin, run.plan, size)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "grown.twin"
        write_twin(path, twin, masked_text="")
        dataset: TwinDataset = keep_twin(path)
    settings = known_settings(run.binaries, twin)
    return servers.enter_context(measuring_session(run.binaries, dataset, settings, _TIMEOUT_S))


def compare(found: GrowthForecast, measured: dict[int, tuple[PerCall, PerCall]], to: float) -> None:
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
    if not inside["time"]:
        print("no statement was predicted and measured: raise --budget")
        return
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
