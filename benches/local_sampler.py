#!/usr/bin/env python3
"""How a search for the best moves numbers at its end: far up and down and then near, by doubling, or by Optuna.

Simulated servers: each of some settings has its best value so many halves or doubles away from the start, and gains
less the further from it. All get the same number of trials with the same noise, from the same start. What counts is
the true gain of the value that each ends with, as a share of the possible one.

Optuna is no dependency of pgclinic: ``uv pip install optuna cmaes`` for this program.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pgclinic.tune.propose import LUCK, MOVES

#: Of doubling, which was the first form: steps in a row, and what counts as one.
DOUBLES_MAX, STEP_MIN, ERRORS = 3, math.log(1.07), 2.0
OCTAVES = 4.0
Trial = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Server:
    """``best`` are places in octaves from the start, ``gain`` logarithms of the gain at them."""

    best: tuple[float, ...]
    gain: tuple[float, ...]
    width: float

    def log_rate(self, at: Sequence[float]) -> float:
        terms = zip(self.best, self.gain, at, strict=True)
        return math.fsum(gain * math.exp(-(((here - best) / self.width) ** 2)) for best, gain, here in terms)

    def share(self, at: Sequence[float]) -> float:
        """Of the possible gain, from the start."""
        start = self.log_rate([0.0] * len(self.best))
        return (self.log_rate(at) - start) / (self.log_rate(self.best) - start)


def server(draw: random.Random, settings: int) -> Server:
    return Server(
        best=tuple(draw.choice((-1, 1)) * draw.uniform(0.5, OCTAVES) for _ in range(settings)),
        gain=tuple(draw.uniform(0.05, 0.4) for _ in range(settings)),
        width=2.0,
    )


def moves(settings: int, trials: int, trial: Trial, deviation: float) -> list[float]:
    """As ``SearchPlan`` moves: the best of far up and far down, then of near up and near down, setting by setting."""
    at = [0.0] * settings
    level = trial(at)
    left = trials - 1
    for factors in MOVES:
        for number in range(settings):
            best, found = level + math.sqrt(2.0) * deviation, at
            for factor in factors:
                if left == 0:
                    break
                moved = [here + (math.log2(factor) if one == number else 0.0) for one, here in enumerate(at)]
                rate = trial(moved)
                left -= 1
                if rate > best:
                    best, found = rate, moved
            if found is at or left == 0:
                continue
            left -= 1
            both = (best + trial(found)) / 2
            if both - level > math.sqrt(1.5) * deviation:
                at, level = found, level + LUCK * (both - level)
    return at


def doubling(settings: int, trials: int, trial: Trial, deviation: float) -> list[float]:
    """A step that gains is kept and repeated, one that does not ends its direction."""
    at = [0.0] * settings
    level = trial(at)
    left = trials - 1
    error = max(STEP_MIN, ERRORS * math.sqrt(2.0) * deviation)
    for number in range(settings):
        for step in (1.0, -1.0):
            for _ in range(DOUBLES_MAX):
                if left == 0:
                    return at
                moved = [here + (step if one == number else 0.0) for one, here in enumerate(at)]
                rate = trial(moved)
                left -= 1
                if rate - level <= error:
                    break
                at, level = moved, rate
    return at


def optuna_sampler(name: str, settings: int, trials: int, trial: Trial, seed: int) -> list[float]:
    """The best that was seen. The start is the first trial, as it is for the moves."""
    optuna: Any = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, Callable[[], Any]] = {
        "TPE": lambda: optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(5, trials // 4), multivariate=True),
        "CMA-ES": lambda: optuna.samplers.CmaEsSampler(seed=seed, x0={f"s{n}": 0.0 for n in range(settings)}),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }
    study = optuna.create_study(direction="maximize", sampler=samplers[name]())
    study.enqueue_trial({f"s{number}": 0.0 for number in range(settings)})

    def objective(one: Any) -> float:
        return trial([one.suggest_float(f"s{number}", -OCTAVES, OCTAVES) for number in range(settings)])

    study.optimize(objective, n_trials=trials)
    return [float(study.best_params[f"s{number}"]) for number in range(settings)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=30)
    parser.add_argument("--deviation", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=Path("local-sampler.json"))
    options = parser.parse_args()
    try:
        importlib.import_module("optuna")
    except ModuleNotFoundError:
        sys.exit("Optuna is not installed: uv pip install optuna cmaes")
    rows = []
    for settings in (3, 6, 12):
        for trials in (20, 40, 80):
            shares: dict[str, list[float]] = {}
            for number in range(options.servers):
                draw = random.Random(f"{settings} {number}")
                simulated = server(draw, settings)

                def trial(at: Sequence[float], simulated: Server = simulated, draw: random.Random = draw) -> float:
                    return simulated.log_rate(at) + draw.gauss(0.0, options.deviation)

                ends = {
                    "far and near": moves(settings, trials, trial, options.deviation),
                    "doubling": doubling(settings, trials, trial, options.deviation),
                }
                for name in ("TPE", "CMA-ES", "random"):
                    ends[name] = optuna_sampler(name, settings, trials, trial, number)
                for name, at in ends.items():
                    shares.setdefault(name, []).append(simulated.share(at))
            rows.append({"settings": settings, "trials": trials, "shares": {k: median(v) for k, v in shares.items()}})
            print(settings, trials, {name: round(median(values), 2) for name, values in shares.items()}, flush=True)
    options.out.write_text(
        json.dumps({"servers": options.servers, "deviation": options.deviation, "rows": rows}, indent=1)
    )


if __name__ == "__main__":
    main()
