"""A study as its TOML file says it: arms, profiles and claims, before anything is resolved."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.load import Protocol, Script
from pgclinic.model.record import Record


class Holder(str, Enum):
    """Who holds the xmin horizon while the load runs."""

    SESSION = "session"


class Condition(Record):
    """What else goes on beside the load; everything unset means: nothing."""

    horizon_held_by: Holder | None = None


class Workload(Record):
    """What the data are and what clients do. ``fill`` is SQL, run once; its result is kept as a template.

    ``probe`` is one statement whose pages are counted by EXPLAIN (ANALYZE, BUFFERS) at the end of each trial.
    """

    fill: str
    scripts: tuple[Script, ...]
    clients: int = 1
    threads: int = 1
    protocol: Protocol = Protocol.SIMPLE
    probe: str | None = None


class ArmFile(Record):
    """One arm: settings and condition on top of those of ``builds_on``."""

    about: str
    builds_on: str | None = None
    settings: dict[str, str] = {}
    condition: Condition | None = None


class Profile(Record):
    """How much of it: ``measure_s`` by arm, blocks at least and at most, and the budget that ends the run.

    A budget in seconds counts from the start of the first trial; a block that cannot be finished in it is not begun.
    """

    warm_up_s: float
    measure_s: dict[str, float]
    blocks_min: int
    blocks_max: int
    budget_s: float


class Counter(str, Enum):
    """Mechanism counters: what should have moved if the claimed cause is the true one."""

    BUFFER_HITS_PER_TRANSACTION = "buffer_hits_per_transaction"
    PROBE_PAGES = "probe_pages"


class Mechanism(Record):
    """The counter that must differ between the arms for the cause to be believed.

    Its value in the claim's arm must be at least ``ratio_min`` times that in the control; a ``ratio_min`` below 1
    claims that it fell, to that many times or less.
    """

    counter: Counter
    ratio_min: float
    about: str


class PublishedWindow(Record):
    """A published series: consecutive windows of ``window_s`` seconds and the TPS in each, for one arm."""

    arm: str
    window_s: float
    tps: tuple[float, ...]


class Claim(Record):
    """``arm`` runs at ``published_ratio`` times the TPS of ``control``, in the last ``tail_s`` seconds of each trial.

    ``region`` overrides the claimed region of the ratio; without it, it is half to twice the published log effect.
    """

    name: str
    text: str
    arm: str
    control: str
    published_ratio: float
    published_text: str
    tail_s: float
    region: tuple[float, float] | None = None
    mechanisms: tuple[Mechanism, ...] = ()
    published_windows: PublishedWindow | None = None


class Source(Record):
    """Where the claim was published."""

    title: str
    author: str
    published: str
    url: str | None = None


class Study(Record):
    """A whole study file. ``version`` is the PostgreSQL it runs on unless the user names another."""

    format: int
    name: str
    title: str
    about: str
    source: Source
    workload: Workload
    arms: dict[str, ArmFile]
    profiles: dict[str, Profile]
    claims: tuple[Claim, ...]
    version: str | None = None
