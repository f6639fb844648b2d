"""What a search found as a postgresql.conf: each line with what it does, measured."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pgclinic.model.run import RunInfo
from pgclinic.model.tuning import Aim, Levels, Search, SettingEffect, SettingLevel
from pgclinic.report.sections.climb.text import rule_words
from pgclinic.report.words.effects import effect_words, interval_words
from pgclinic.report.words.figures import percent
from pgclinic.report.words.quantities import ratio_words
from pgclinic.settings.conf_file import quoted


def found_conf(found: Search, levels: Levels, info: RunInfo) -> str:
    """Lines of a postgresql.conf, the heaviest setting first."""
    return "\n".join(_lines(found, levels, info)) + "\n"


def _lines(found: Search, levels: Levels, info: RunInfo) -> Iterator[str]:
    word = "slowest" if found.aim is Aim.WORST else "fastest"
    when = time.strftime("%Y-%m-%d", time.gmtime(info.started_epoch_us / 1e6))
    yield f"# The {word} configuration that pgclinic {info.tool.pgclinic} found on {when}, seed {info.seed}."
    yield f"# {info.server}; {info.machine.cores} cores, {info.machine.memory_bytes / 2**30:.0f} GiB."
    if found.effect is not None:
        yield f"# All of it against the base: {effect_words(found.effect)}, {found.blocks} blocks."
    if found.rule is not None:
        yield f"# Rule: {rule_words(found)}."
    effects = {effect.setting: effect for effect in found.effects}
    known = {level.setting: level for level in levels.usable}
    order = [*effects, *(name for name in found.settings if name not in effects)]
    for name in order:
        yield ""
        yield f"# {_effect(effects.get(name))}"
        reason = _reason(known.get(name), found.settings[name])
        if reason is not None:
            yield f"# {reason}"
        yield f"{name} = {quoted(found.settings[name])}"


def _effect(one: SettingEffect | None) -> str:
    if one is None:
        return "No effect of its own was measured: it may only help others, or be below what the trials could find."
    return (
        f"{ratio_words(one.factor)} (95 % CI {interval_words(one.interval)}), {percent(one.share)} of the whole effect"
    )


def _reason(level: SettingLevel | None, value: str) -> str | None:
    """What the prior says of that very value."""
    if level is None or level.reason is None or level.value != value:
        return None
    return f"{level.reason} ({level.source})"
