"""What is known of the settings of a workload: values to try, what each does, and in which release it changed."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record
from pgclinic.model.trial import Counted, ServerSpec


class Aim(str, Enum):
    """What a search wants: the slowest or the fastest configuration."""

    WORST = "worst"
    BEST = "best"


class Risk(str, Enum):
    """What a value may do beyond speed. Only ``none`` is tried unless the user allows more.

    ``durability``: commits may be lost or data damaged. ``kills_work``: clients cannot connect, write or finish.
    ``fills_disk``: it writes without bound. ``exceeds_memory``: the machine does not have so much. ``meaning``:
    statements return something else, so that it is another workload.
    """

    NONE = "none"
    DURABILITY = "durability"
    KILLS_WORK = "kills_work"
    FILLS_DISK = "fills_disk"
    EXCEEDS_MEMORY = "exceeds_memory"
    MEANING = "meaning"


class SettingLevel(Record):
    """One value of one setting. ``weight`` is the prior: by how many decades it may change the speed, 0 if unknown.

    ``reason`` and ``source`` are of the prior. ``together`` are settings without which the value does nothing.
    """

    setting: str
    value: str
    risk: Risk = Risk.NONE
    needs_restart: bool = False
    weight: float = 0.0
    reason: str | None = None
    source: str | None = None
    together: dict[str, str] = {}

    @property
    def settings(self) -> dict[str, str]:
        return {**self.together, self.setting: self.value}


class AttemptOutcome(str, Enum):
    """How far a configuration came. ``rejected``: a value is invalid. ``refused``: the server did not start.

    ``clients_failed``: it started, and its clients could not work. ``no_work``: they worked, and nothing was finished.
    """

    DONE = "done"
    PRUNED = "pruned"
    REJECTED = "rejected"
    REFUSED = "refused"
    CLIENTS_FAILED = "clients_failed"
    NO_WORK = "no_work"


class LevelTried(Record):
    """A level and whether a server starts with it: ``done``, ``rejected`` or ``refused``, with the server's words.

    ``asked`` is the more extreme value that it was meant to have, where the server does not start with that.
    """

    level: SettingLevel
    outcome: AttemptOutcome
    message: str | None = None
    asked: str | None = None


class Levels(Record):
    """What a search may do: the values that it may try, in the order of their prior, and those that it may not.

    ``start`` are settings that it begins with. ``p99_times`` and ``memory_bytes`` bound what the best may cost; the
    worst has to commit a transaction ``within_s``.
    """

    aim: Aim
    tried: tuple[LevelTried, ...]
    left_out: tuple[SettingLevel, ...] = ()
    start: dict[str, str] = {}
    p99_times: float | None = None
    memory_bytes: float | None = None
    within_s: float = 120.0
    format: int = 1

    @property
    def usable(self) -> tuple[SettingLevel, ...]:
        return tuple(level.level for level in self.tried if level.outcome is AttemptOutcome.DONE)


class WantedArm(Record):
    """One arm of a block that an adaptive plan asks for."""

    name: str
    settings: dict[str, str]
    server: ServerSpec


class Effect(Record):
    """A ratio of what was counted per second with its 95 % limits; None where a limit is open or not known."""

    ratio: float
    low: float | None = None
    high: float | None = None


class SettingEffect(Record):
    """What one setting does. ``factor`` is its Shapley value as a ratio: the mean over orders of adding it.

    ``interval`` are the 95 % limits of that, ``share`` its part of the logarithm of the whole effect. ``alone`` is its
    ratio on the base, ``last`` the ratio that it makes in the complete configuration; where the two differ, settings
    interact. None was not measured.
    """

    setting: str
    value: str
    base_value: str | None
    factor: float
    interval: tuple[float, float]
    share: float
    alone: float | None = None
    last: float | None = None


class SuspicionReason(str, Enum):
    """Why a setting that seemed to do something is not named as a carrier.

    ``no_time``: the budget had no room for orders of its own. ``not_confirmed``: its own orders leave it open.
    ``not_measured``: configurations with or without it gave no measurement.
    """

    NO_TIME = "no_time"
    NOT_CONFIRMED = "not_confirmed"
    NOT_MEASURED = "not_measured"


class Suspected(Record):
    """A setting that may be a carrier. ``factor`` is the ratio that it was chosen for, which is too large on average.

    None was not measured.
    """

    setting: str
    value: str
    reason: SuspicionReason
    factor: float | None = None


class InteractionKind(str, Enum):
    """``synergy``: together they do more than both alone. ``masking``: one hides what the other does."""

    SYNERGY = "synergy"
    MASKING = "masking"


class Interaction(Record):
    """Two settings whose ratio ``together`` is not that of ``expected``, the product of both alone."""

    settings: tuple[str, str]
    kind: InteractionKind
    together: float
    expected: float


class WaterfallStep(Record):
    """Statements per second ``before`` and ``after`` a setting, from the base down; the last one is all the others."""

    setting: str
    before: float
    after: float


class AssayWord(str, Enum):
    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no difference"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"


class Assay(Record, tag="assay", tag_field="kind"):
    """Which of the settings that differ carry the difference. Ratios are of what is ``counted`` a second, to the base.

    ``whole`` is the effect of all of them by ``blocks`` blocks, ``smallest`` the smallest set found that keeps 95 % of
    its logarithm, ``smallest_effect`` what that set does in the same blocks and ``keeps`` its part of the logarithm.
    ``resolution`` is the smallest factor of a single setting that these trials could find. ``unexplained`` is the part
    of the logarithm that no carrier explains. Of the settings that are no ``carriers``, ``suspected`` seemed to do
    something, ``bystanders`` were tried without an effect that these trials could find, and for ``untried`` the budget
    had no room. ``refusal`` says why the complete configuration gave no measurement.
    """

    word: AssayWord
    base_per_s: float
    changed_per_s: float
    whole: Effect | None
    carriers: tuple[SettingEffect, ...] = ()
    bystanders: tuple[str, ...] = ()
    suspected: tuple[Suspected, ...] = ()
    untried: tuple[str, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    smallest: tuple[str, ...] = ()
    smallest_effect: Effect | None = None
    keeps: float | None = None
    waterfall: tuple[WaterfallStep, ...] = ()
    unexplained: float | None = None
    resolution: float | None = None
    blocks: int = 0
    trials: int = 0
    spent_s: float = 0.0
    is_complete: bool = True
    refusal: str | None = None
    counted: Counted = Counted.STATEMENTS
    format: int = 1


class SettingSoFar(Record):
    """What one setting seems to do while an assay runs: the ratio of its strongest screening."""

    setting: str
    factor: float


class AssaySoFar(Record):
    """Where an assay stands: ``whole`` is the effect of all settings, ``settings`` those screened, strongest first."""

    whole: Effect | None
    settings: tuple[SettingSoFar, ...] = ()


class SearchStep(Record):
    """A trial of a search: what it added to the best so far, how it ended, and the ratio to the base then known."""

    trial: int
    outcome: AttemptOutcome
    added: dict[str, str] = {}
    removed: tuple[str, ...] = ()
    rate_per_s: float | None = None
    ratio: float | None = None
    accepted: bool = False
    best_ratio: float = 1.0
    spent_s: float = 0.0
    reason: str | None = None


class RuleCheck(Record):
    """The final configuration: did all clients connect, and was a transaction committed within ``within_s``?

    ``first_commit_s`` is at most how long the first one took.
    """

    passed: bool
    within_s: float
    transactions: int
    clients: int
    clients_connected: int
    first_commit_s: float | None = None
    problem: str | None = None


class Search(Record, tag="search", tag_field="kind"):
    """The slowest or fastest configuration found. ``effect`` is by fresh ``blocks`` against the base.

    ``settings`` are those that are kept, ``effects`` what each of them does. ``outcomes`` counts all attempts.
    ``untried`` are values for which the budget had no time, ``dropped_by_rule`` those without which the rule is kept.
    ``p99_ratio`` and ``memory_ratio`` are of the final blocks, for the guard rails of a search for the best.
    """

    aim: Aim
    base_per_s: float
    settings: dict[str, str]
    effect: Effect | None
    steps: tuple[SearchStep, ...]
    outcomes: dict[str, int]
    effects: tuple[SettingEffect, ...] = ()
    rule: RuleCheck | None = None
    p99_ratio: float | None = None
    memory_ratio: float | None = None
    rejected_by_guard: tuple[str, ...] = ()
    blocks: int = 0
    trials: int = 0
    spent_s: float = 0.0
    is_complete: bool = True
    untried: tuple[str, ...] = ()
    dropped_by_rule: tuple[str, ...] = ()
    counted: Counted = Counted.STATEMENTS
    format: int = 1


class ReleaseMeasured(Record):
    """One release: what was counted of it per second, and its ratio to the first release of the list, by blocks."""

    version: str
    rate_per_s: float
    against_first: Effect
    blocks: int
    failure: str | None = None
    p99_us: float | None = None
    buffer_hits_per_transaction: float | None = None


class DefaultChanged(Record):
    """A setting whose default is another one from one release to the next; None where a release does not have it."""

    setting: str
    before: str | None
    after: str | None


class ChangeFound(Record):
    """A change of performance between two releases of the list with none between them.

    ``effect`` is later to earlier; its limits hold for all comparisons of the run together.
    """

    before: str
    after: str
    effect: Effect
    neighbours: bool
    defaults: tuple[DefaultChanged, ...] = ()
    why: str | None = None


class BisectWord(str, Enum):
    CHANGED = "changed"
    NO_CHANGE = "no change"
    INCONCLUSIVE = "inconclusive"


class Bisect(Record, tag="bisect", tag_field="kind"):
    """In which releases performance changed. ``margin`` is the effect below which releases count as equal.

    ``undecided`` are neighbouring releases that the budget did not tell apart. ``comparisons`` is the number of
    looks that share the 5 % error. Rates and ratios are of what is ``counted``.
    """

    word: BisectWord
    versions: tuple[str, ...]
    releases: tuple[ReleaseMeasured, ...]
    changes: tuple[ChangeFound, ...] = ()
    undecided: tuple[tuple[str, str], ...] = ()
    comparisons: int = 0
    margin: float = 0.05
    trials: int = 0
    spent_s: float = 0.0
    counted: Counted = Counted.STATEMENTS
    is_complete: bool = True
    format: int = 1
