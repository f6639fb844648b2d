"""Values of a load by the second as the lines of a chart: one for each trial, and the mean of each arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from pgclinic.load.by_second import full_seconds
from pgclinic.model.run import Second
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.report.parts.time_chart import ChartLine, Steps, TimeChart, Values
from pgclinic.samples.means import mean_by_place

_COLOURS = 8


def second_chart(
    name: str,
    title: str,
    unit: str,
    lines: Sequence[ChartLine],
    steps: Sequence[Steps] = (),
    *,
    log: bool = False,
    trial: int | None = None,
) -> TimeChart:
    """A chart of values by the second, which all lines have from second 0; before it is thinned."""
    length = max([0, *(len(line.values) for line in lines), *(round(len(one.values) * one.window_s) for one in steps)])
    seconds = range(length) if lines else range(0)
    padded = (replace(line, values=line.values + (None,) * (len(seconds) - len(line.values))) for line in lines)
    return TimeChart(
        id=name,
        title=title,
        unit=f" {unit}",
        measured_in=unit,
        shape="lines",
        span_s=(0.0, float(len(seconds))),
        from_s=tuple(float(second) for second in seconds),
        to_s=tuple(second + 1.0 for second in seconds),
        lines=tuple(padded),
        steps=tuple(steps),
        log=log,
        trial=trial,
    )


def full_only(trials: Sequence[TrialRecord], seconds: Sequence[Second]) -> list[Second]:
    """Without the second of a trial that its end shortened."""
    ends = {trial.spec.number: full_seconds(trial.load) for trial in trials if trial.load is not None}
    return [second for second in seconds if second.second < ends.get(second.trial, second.second + 1)]


def arm_ink(arm: int) -> str:
    """The colour of an arm, which it has on the whole page."""
    return f"arm-{arm % _COLOURS}"


def arm_lines(
    arms: Sequence[str],
    trials: Sequence[TrialRecord],
    seconds: Sequence[Second],
    value_of: Callable[[Second], float | None],
    *,
    single: bool = True,
) -> tuple[ChartLine, ...]:
    """A line for each trial, unless not ``single``, and on top of them the mean of each arm over its trials."""
    done = {trial.spec.number for trial in trials if trial.outcome is TrialOutcome.DONE}
    by_trial: dict[int, list[Second]] = {}
    for second in full_only(trials, seconds):
        if second.arm in arms:
            by_trial.setdefault(second.trial, []).append(second)
    length = max((row.second + 1 for rows in by_trial.values() for row in rows), default=0)
    every = {number: by_second(rows, value_of, length) for number, rows in sorted(by_trial.items())}
    # A line without a value would be drawn as an empty chart.
    known = {number: values for number, values in every.items() if any(value is not None for value in values)}
    arm_of = {number: arms.index(by_trial[number][0].arm) for number in known}
    lines = [
        ChartLine(
            name=f"{arms[arm_of[number]]}, trial {number}", ink=arm_ink(arm_of[number]), values=values, trial=number
        )
        for number, values in known.items()
        if single
    ]
    for index, arm in enumerate(arms):
        own = [values for number, values in known.items() if arm_of[number] == index and number in done]
        if own:
            lines.append(ChartLine(name=arm, ink=arm_ink(index), values=_mean_values(own)))
    return tuple(lines)


def by_second(rows: Sequence[Second], value_of: Callable[[Second], float | None], length: int = 0) -> Values:
    """The values of one trial from second 0, at least ``length`` of them; None for a second without a row."""
    values: list[float | None] = [None] * max([length, *(row.second + 1 for row in rows)])
    for row in rows:
        if row.second >= 0:
            values[row.second] = value_of(row)
    return tuple(values)


def _mean_values(own: Sequence[Values]) -> Values:
    """The mean of each second over the trials that have it."""
    return tuple(None if value is None else round(value, 2) for value in mean_by_place(own))


def turns_words(trials: Sequence[TrialRecord]) -> str:
    """What seconds are where arms alternate; empty where trials run one after the other."""
    alternate = any(trial.load is not None and trial.load.windows is not None for trial in trials)
    return " The arms alternate: the seconds are those in which an arm was counted." if alternate else ""
