"""The climb of a search while it runs: a line for each step that was kept, with a bar on a logarithmic axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pgclinic.model.tuning import Aim, AttemptOutcome, Search, SearchStep
from pgclinic.report.live.progress import clock
from pgclinic.report.parts.columns import indented_columns
from pgclinic.report.words.effects import NAMED, effect_words, setting_rows
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, number, times
from pgclinic.report.words.quantities import slower

#: Of the bar, for a factor of ten: the worst goes down by many, the best seldom gains one.
BAR_COLUMNS = {Aim.WORST: 6.0, Aim.BEST: 40.0}
_BAR_MAX = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"
_CHANGE = 40

_NAMED_IN_HEADLINE = 3


def climb_line(step: SearchStep, number: int, aim: Aim) -> str:
    """When, which step, what it changed, how far the search has come: 4:12  7  + work_mem = 64kB  12x slower  ████."""
    change = change_words(step.added, step.removed)
    if len(change) > _CHANGE:
        change = change[: _CHANGE - 3] + "..."
    head = f"{clock(step.spent_s):>7} {number:>3}  {change:<{_CHANGE}} {slower(step.best_ratio):>14}"
    return f"{head}  {bar(step.best_ratio, BAR_COLUMNS[aim])}"


def change_words(added: Mapping[str, str], removed: Sequence[str]) -> str:
    """+ work_mem = 64kB; - work_mem for what goes."""
    if removed:
        return f"- {', '.join(removed)}"
    return "+ " + ", ".join(f"{name} = {value}" for name, value in added.items())


def bar(ratio: float, columns: float) -> str:
    """As long as the ratio is far from 1, in either direction: ``columns`` for a factor of ten."""
    if ratio <= 0:
        return ""
    length = min(abs(math.log10(ratio)) * columns, float(_BAR_MAX))
    whole = int(length)
    return ("█" * whole + _EIGHTHS[int((length - whole) * 8)]).rstrip()


def search_lines(found: Search) -> Iterator[str]:
    yield search_headline(found)
    yield f"  rate       {number(found.base_per_s)} {found.counted.value} per second on the base"
    if found.effects:
        yield "  settings"
        yield from indented_columns(setting_rows(found.effects))
    others = [name for name in found.settings if name not in {effect.setting for effect in found.effects}]
    if others:
        yield "  beside     " + ", ".join(f"{name} = {found.settings[name]}" for name in others)
    if found.rule is not None:
        yield f"  rule       {rule_words(found)}"
    if found.p99_ratio is not None:
        memory = f", memory {times(found.memory_ratio)}" if found.memory_ratio is not None else ""
        yield f"  costs      p99 latency {times(found.p99_ratio)}{memory}, found to base"
    for words in found.dropped_by_rule:
        yield f"  dropped    {words}"
    for words in found.rejected_by_guard[:NAMED]:
        yield f"  guard      {words}"
    yield f"  trust      {search_trust(found)}"
    if found.untried:
        yield f"  untried    {count(len(found.untried), 'value')}: the budget was over"


def search_headline(found: Search) -> str:
    word = "SLOWEST" if found.aim is Aim.WORST else "FASTEST"
    if not found.settings:
        return f"NOTHING FOUND   no value made a step {'down' if found.aim is Aim.WORST else 'up'}"
    effect = effect_words(found.effect) if found.effect is not None else "not confirmed"
    return f"{word} FOUND   {effect}; {_settings_words(found)}"


def _settings_words(found: Search) -> str:
    """random_page_cost = 1e300, shared_buffers = 16; how many there are beyond the first."""
    named = [f"{name} = {value}" for name, value in found.settings.items()]
    more = len(named) - _NAMED_IN_HEADLINE
    return ", ".join(named[:_NAMED_IN_HEADLINE]) + (f" and {count(more, 'other setting')}" if more > 0 else "")


def rule_words(found: Search) -> str:
    rule = found.rule
    if rule is None:
        return "not checked"
    if not rule.passed:
        return f"broken: {rule.problem}"
    first = f", the first after at most {rule.first_commit_s:.0f} s" if rule.first_commit_s is not None else ""
    return (
        f"kept: all of {count(rule.clients, 'client')} connected, {count(rule.transactions, 'transaction')} "
        f"committed within {rule.within_s:.0f} s{first}"
    )


def search_trust(found: Search) -> str:
    counts = ", ".join(f"{amount} {OUTCOME_WORDS[AttemptOutcome(name)]}" for name, amount in found.outcomes.items())
    spent = f"{count(found.trials, 'trial')}, {time_words(found.spent_s)}"
    return f"{count(found.blocks, 'fresh block')}; {spent}; tried: {counts}"


OUTCOME_WORDS = {
    AttemptOutcome.DONE: "measured",
    AttemptOutcome.PRUNED: "stopped early",
    AttemptOutcome.REJECTED: "rejected",
    AttemptOutcome.REFUSED: "refused at start",
    AttemptOutcome.CLIENTS_FAILED: "with failing clients",
    AttemptOutcome.NO_WORK: "without completed work",
}
