"""An upgrade in words: what has to be done before, how statements change, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.model.upgrade import (
    BeforeAnalyze,
    CollationChange,
    ExtensionChange,
    LockRoom,
    MissingStatistics,
    Preflight,
    SettingChange,
    SettingChangeKind,
    StatementBeforeAnalyze,
    StatementUpgraded,
    Upgrade,
    UpgradeCause,
    UpgradeCauseKind,
    UpgradeWord,
)
from pgclinic.model.verdict_word import CompareWord
from pgclinic.model.version import parse_version
from pgclinic.report.sections.horizon.text import duration_words
from pgclinic.report.words.figures import count, number, percent, span, times
from pgclinic.report.words.no_answer import no_answer
from pgclinic.sql.quoting import literal

#: A statement that takes less than this longer until ANALYZE has run is not named.
SLOWER_BEFORE_ANALYZE = 1.5
_TEXT_MAX, _NAMED_MAX = 100, 70


def upgrade_sentence(found: Upgrade) -> str:
    """On 18.6 the server needs 0.93x the time of 14.24, 95 % CI 0.90 to 0.96, 8 blocks; 2 of 41 statements are slower.

    What a twin says of its original is server time; without that it is the twin's throughput.
    """
    return f"{_whole(found)}; {statements_words(found)}{_slowest_words(found)}"


def _slowest_words(found: Upgrade) -> str:
    """The statement that takes most of the slower ones' time, and the switch that causes it."""
    if not found.slower:
        return ""
    one = max(found.slower, key=lambda each: each.time_share)
    took = (
        f"more than {time_words(one.after_ms)}" if one.at_least or one.ratio is None else f"{times(one.ratio)} the time"
    )
    cause = f" because of {', '.join(one.cause.settings)}" if one.cause is not None else ""
    return f". {took[:1].upper()}{took[1:]}{cause}: {short(one.text, _NAMED_MAX)}"


def _whole(found: Upgrade) -> str:
    seen = found.comparison
    if seen is None:
        ratio = found.executions_ratio
        if ratio is None:
            return f"On {found.after} no statement was measured"
        alone = f"single executions take {times(ratio)} the time of {found.before}"
        return f"On {found.after} {alone}, weighted by the original's time (no blocks ran)"
    if seen.word is CompareWord.INVALID or seen.interval is None:
        return f"{found.before} to {found.after}: {no_answer(seen.invalid_because)}".removesuffix(".")
    so_far = "so far " if seen.word is CompareWord.INCONCLUSIVE else ""
    moved = seen.transport
    if moved is None:
        bounds = _bounds(seen.interval.low, seen.interval.high, seen.interval.blocks)
        commits = f"the twin commits {times(seen.interval.ratio)} as often as on {found.before}"
        return f"On {found.after} {so_far}{commits}, {bounds}"
    bounds = _bounds(moved.low, moved.high, moved.blocks)
    needs = f"the server needs {times(moved.ratio)} the time of {found.before}"
    return f"On {found.after} {so_far}{needs}, {bounds}"


def _bounds(low: float | None, high: float | None, blocks: int) -> str:
    interval = f"95 % CI {span((low, high))}" if low is not None and high is not None else "no CI yet"
    return f"{interval}, {count(blocks, 'block')}"


def statements_words(found: Upgrade) -> str:
    """2 of 41 statements are slower, 5 faster, 3 not run."""
    slower, faster = len(found.slower), len(found.faster)
    words = f"{slower} of {len(found.statements):,} statements {'is' if slower == 1 else 'are'} slower"
    if not slower:
        words = f"none of {count(len(found.statements), 'statement')} is slower"
    if faster:
        words += f", {faster} faster"
    refused = len(found.preflight.statements)
    return f"{words}, {refused} refused" if refused else words


# Before anything runs


def setting_words(change: SettingChange, after: str) -> str:
    """hash_mem_multiplier: the default is 2, it was 1."""
    name, target = change.setting, f"PostgreSQL {after}"
    match change.kind:
        case SettingChangeKind.GONE:
            return f"{name} = {change.before}: {target} has no such setting and refuses to start with it; remove it"
        case SettingChangeKind.RENAMED:
            return f"{change.before} is called {change.after}"
        case SettingChangeKind.REFUSED:
            return f"{name} = {change.before}: {target} refuses this value: {change.detail}"
        case SettingChangeKind.READ_OTHERWISE:
            return f"{name} was read as {change.before} and is read as {change.after}: write a value that fits it"
        case SettingChangeKind.DEFAULT:
            was = "it was" if change.is_known else "it was, if the server has the default,"
            return f"{name}: the default is {_value(change.after)}, {was} {_value(change.before)}"


def _value(value: str | None) -> str:
    return "empty" if value in (None, "") else str(value)


def extension_words(change: ExtensionChange, after: str) -> str:
    """What to do for an extension."""
    if change.after is None:
        return (
            f"{change.name} is not among the binaries of PostgreSQL {after} here; install its package for that version "
            "before pg_upgrade runs"
        )
    was = f"{change.before} becomes {change.after}" if change.before is not None else f"{change.after} is there"
    return f"{change.name} {was}: run ALTER EXTENSION {change.name} UPDATE after pg_upgrade"


def preflight_rows(seen: Preflight, after: str) -> Iterator[tuple[str, str]]:
    """What has to be done or known before the upgrade: a label, and what it is."""
    for change in seen.settings:
        if change.kind is not SettingChangeKind.DEFAULT:
            yield "setting", setting_words(change, after)
    for extension in seen.extensions:
        yield "extension", extension_words(extension, after)
    for collation in seen.collations:
        yield ("collation" if collation.before is not None else "perhaps"), collation_words(collation, after)
    if seen.locks is not None:
        yield "locks", locks_words(seen.locks)
    for refused in seen.objects:
        yield "refused", f"{refused.kind} {refused.name}: {refused.reason}"
    for statement in seen.statements:
        yield (
            "refused",
            f"statement with {percent(statement.time_share)} of the time: {statement.reason}: {short(statement.text)}",
        )
    for one in seen.skipped:
        yield "not tried", f"{one.kind} {one.name} is not in the twin: {one.reason}"


def collation_words(one: CollationChange, after: str) -> str:
    """de-x-icu: its version is 153.120 with the libraries of 18.6, it was 153.80: REINDEX 2 indexes."""
    indexes = "1 index" if one.indexes == 1 else f"{one.indexes:,} indexes"
    if one.before is None:
        return f"{one.name}: if the new server has another version of this locale, REINDEX {indexes}"
    return (
        f"{one.name}: its version is {one.after} with the libraries of {after}, it was {one.before}: REINDEX {indexes}"
    )


def locks_words(one: LockRoom) -> str:
    """What pg_upgrade needs, and what to set."""
    return (
        f"pg_upgrade locks all {one.tables:,} tables at once; max_locks_per_transaction = "
        f"{one.max_locks_per_transaction} has room for {one.room:,} with {one.sessions} sessions: set it to "
        f"{one.enough} or more on both servers"
    )


def default_rows(seen: Preflight, after: str) -> Iterator[tuple[str, str]]:
    """Defaults that change for this server."""
    for change in seen.settings:
        if change.kind is SettingChangeKind.DEFAULT:
            yield ("default" if change.is_known else "perhaps"), setting_words(change, after)


# Statements


def short(text: str, columns: int = _TEXT_MAX) -> str:
    """One line of a statement."""
    line = " ".join(text.split())
    return line if len(line) <= columns else f"{line[: columns - 1]}…"


def time_words(ms: float | None) -> str:
    """0.535 ms, 1.2 s, 18 µs: 1 to 999 where it can be."""
    if ms is None:
        return "-"
    if ms >= 1000:
        return f"{number(ms / 1000)} s"
    return f"{number(ms)} ms" if ms >= 1 else f"{number(ms * 1000)} µs"


def change_words(one: StatementUpgraded) -> str:
    """3.2x the time, 95 % CI 2.8 to 3.6: 115 µs -> 366 µs."""
    sides = f"{time_words(one.before_ms)} -> {time_words(one.after_ms)}"
    if one.at_least:
        return f"stopped after {time_words(one.after_ms)}, {time_words(one.before_ms)} before"
    if one.ratio is None:
        return sides
    interval = f", 95 % CI {span((one.low, one.high))}" if one.low is not None and one.high is not None else ""
    return f"{times(one.ratio)} the time{interval}: {sides}"


def plan_words(one: StatementUpgraded) -> str | None:
    """The two plans, where they differ."""
    if one.before_plan is None or one.after_plan is None:
        return None
    if one.plan_changed:
        return f"{one.before_plan} -> {one.after_plan}"
    if one.plan_varies:
        return "it varies with the sample of ANALYZE on either version"
    return None


def cause_words(cause: UpgradeCause, before: str) -> str:
    """enable_presorted_aggregate, which 14 does not have: off takes 0.55x the time."""
    names = ", ".join(f"{name} = {_value(value)}" for name, value in cause.settings.items())
    major = parse_version(before).branch
    name = next(iter(cause.settings))
    why = {
        UpgradeCauseKind.DEFAULT: f"the changed default of {name}",
        UpgradeCauseKind.FEATURE: f"{name}, which PostgreSQL {major} does not have",
        UpgradeCauseKind.JIT: "just-in-time compilation",
        UpgradeCauseKind.PLAN: f"the plan node that {name} switches",
    }[cause.kind]
    return f"{why}: with {names} it takes {times(cause.ratio)} the time ({time_words(cause.ms)})"


def fix_words(cause: UpgradeCause) -> str:
    """What to run."""
    return "; ".join(f"ALTER ROLE name SET {name} = {literal(value)}" for name, value in cause.settings.items())


def no_cause_words(one: StatementUpgraded) -> str:
    return f"none of the {one.tried_causes} settings that were switched back restores the old time"


# Before ANALYZE


def slower_before_analyze(seen: BeforeAnalyze) -> tuple[StatementBeforeAnalyze, ...]:
    """Those that take clearly longer than on the old version."""
    return tuple(
        one
        for one in seen.statements
        if one.at_least or (one.ms and one.before_ms and one.ms > SLOWER_BEFORE_ANALYZE * one.before_ms)
    )


def before_analyze_words(seen: BeforeAnalyze, found: Upgrade) -> str:
    """What pg_upgrade leaves behind, and how many statements it slows down."""
    what = "no statistics" if seen.missing is MissingStatistics.ALL else "no extended statistics"
    slower = slower_before_analyze(seen)
    head = f"pg_upgrade leaves {what} on {found.after}"
    if not seen.planned:
        return f"{head}: the budget had no time to plan the statements without them"
    if not seen.statements:
        return f"{head}: none of {count(seen.planned, 'statement')} gets another plan"
    verb = "gets" if len(seen.statements) == 1 else "get"
    others = f"{len(seen.statements)} of {count(seen.planned, 'statement')} {verb} another plan"
    words = f"{head}: {others}, {len(slower)} of them"
    took = f"; ANALYZE of the twin took {number(seen.analyze_s)} s" if seen.analyze_s is not None else ""
    return f"{words} {'takes' if len(slower) == 1 else 'take'} more than {SLOWER_BEFORE_ANALYZE}x the time{took}"


def analyze_command(seen: BeforeAnalyze, found: Upgrade) -> str:
    """What ends it."""
    options = (
        "--missing-stats-only --analyze-in-stages"
        if seen.missing is MissingStatistics.EXTENDED
        else "--analyze-in-stages"
    )
    return f"vacuumdb {options} --dbname={literal(found.database) if ' ' in found.database else found.database}"


def before_analyze_row(one: StatementBeforeAnalyze) -> str:
    """19 ms until ANALYZE has run, 0.3 ms before."""
    ms = f"more than {time_words(one.ms)}" if one.at_least else time_words(one.ms)
    ratio = f" ({times(one.ms / one.before_ms)})" if one.ms and one.before_ms and not one.at_least else ""
    return f"{ms} until ANALYZE has run{ratio}, {time_words(one.before_ms)} on the old version"


# Trust


def unjudged_words(found: Upgrade) -> list[str]:
    """Thresholds that nothing was measured for."""
    return [
        f"{one}: not judged, since the budget of {duration_words(found.budget_s)} had no time for blocks"
        for one in found.unjudged
    ]


def trust_words(found: Upgrade) -> str:
    """On what it is based."""
    of_all = f"{len(found.statements)} of {count(found.of_statements, 'statement')}"
    tried = f"{of_all} with {percent(found.tried_time_share)} of the time"
    words = f"{tried}; {found.before} against itself: 95 % of the statements within {times(found.same_spread)}"
    others = [
        (UpgradeWord.OPEN, "undecided"),
        (UpgradeWord.OTHER_ROWS, "with other rows on the two twins"),
        (UpgradeWord.NOT_RUN, "not run"),
    ]
    counts = [f"{len(found.of(word))} {said}" for word, said in others if found.of(word)]
    scale = [f"twin at {percent(found.scale)} of the rows"] if found.scale != 1.0 else []
    return "; ".join([words, *([", ".join(counts)] if counts else []), *scale])


def since_words(one: StatementUpgraded, bisected: Sequence[str]) -> str | None:
    if one.since is None:
        return None
    return one.since + (f" (tried: {', '.join(bisected)})" if bisected else "")


def upgrade_title(found: Upgrade) -> str:
    """From 14.24 to 18.6: shop."""
    return f"From PostgreSQL {found.before} to {found.after}: {found.database}"
