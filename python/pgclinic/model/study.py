"""A study as its TOML file says it: arms, profiles and claims, before anything is resolved."""

from __future__ import annotations

import math
import re
from enum import Enum

from pgclinic.model.dataset import TwinDataset
from pgclinic.model.horizon import ReplayedHold
from pgclinic.model.load import Convention, Isolation, Protocol, Script
from pgclinic.model.record import Record

_WEB_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f<>\"'`\\]+", re.IGNORECASE)


class Holder(str, Enum):
    """Who holds the xmin horizon while the load runs.

    ``session`` has an open transaction with an id and is idle; ``query`` runs one long statement;
    ``prepared_transaction`` needs max_prepared_transactions; ``physical_slot`` has the xmin that a standby fed back
    before it went away; ``logical_slot`` holds the horizon of the catalogs only and needs wal_level = logical.
    """

    SESSION = "session"
    QUERY = "query"
    PREPARED_TRANSACTION = "prepared_transaction"
    PHYSICAL_SLOT = "physical_slot"
    LOGICAL_SLOT = "logical_slot"


class Step(Record):
    """SQL that a session of its own runs ``at_s`` seconds after the load was started, then every ``every_s``."""

    at_s: float
    sql: str
    every_s: float | None = None


class Condition(Record):
    """What else goes on beside the load; everything unset means: nothing.

    ``release_at_s`` is when the holder lets go of the horizon, in seconds after the load was started. With
    ``time_outs`` the server's time-outs apply to the session that holds it, and may end it. ``idle_sessions`` are
    connections that do nothing at all. ``checkpoint_every_s`` is how often a session asks for a checkpoint.

    ``replay_horizon`` names the file of a recorded horizon, which sessions hold as long and as often as it was held: in
    the recorded time, or with the whole recording in ``replay_s`` seconds. No hold lasts longer than
    ``replay_hold_s_max`` seconds of the recording, as a timeout would have ended it. ``holds`` are what
    follows from these.
    """

    horizon_held_by: Holder | None = None
    release_at_s: float | None = None
    time_outs: bool = False
    idle_sessions: int = 0
    checkpoint_every_s: float | None = None
    steps: tuple[Step, ...] = ()
    replay_horizon: str | None = None
    replay_s: float | None = None
    replay_hold_s_max: float | None = None
    holds: tuple[ReplayedHold, ...] = ()


class TpccWorkload(Record):
    """TPC-C in place of a fill and scripts; how many warehouses is the profile's to say."""

    convention: Convention = Convention.BENCHBASE
    isolation: Isolation = Isolation.SERIALIZABLE
    max_tries: int = 3


class PagesWanted(Record):
    """The table and the index of it whose pages are looked into at the end of each trial."""

    table: str
    index: str | None = None


class Workload(Record):
    """What the data are and what clients do. ``fill`` is SQL, run once; its result is kept as a template.

    ``twin`` is a live database rebuilt, in place of ``fill``; ``changes`` are SQL as well, run on the data of either.

    ``probe`` is one statement whose pages are counted by EXPLAIN (ANALYZE, BUFFERS) at the end of each trial.
    ``custom_metrics`` are statements that return one number each, read after the load while the condition lasts;
    claims and mechanisms name them as they name counters. ``pages`` are looked into then as well.
    """

    fill: str = ""
    changes: str = ""
    twin: TwinDataset | None = None
    scripts: tuple[Script, ...] = ()
    tpcc: TpccWorkload | None = None
    clients: int = 1
    threads: int = 1
    protocol: Protocol = Protocol.SIMPLE
    probe: str | None = None
    custom_metrics: dict[str, str] = {}
    pages: PagesWanted | None = None


class WorkloadChange(Record):
    """What one arm does otherwise than the study's workload; everything unset stays as it is."""

    fill: str | None = None
    changes: str | None = None
    scripts: tuple[Script, ...] | None = None
    clients: int | None = None
    probe: str | None = None
    pages: PagesWanted | None = None


class ArmFile(Record):
    """One arm: settings, condition, variables and workload on top of those of ``builds_on``.

    ``variables`` are those of the scripts. ``version`` is the PostgreSQL that this arm runs on, whatever the others
    do; ``bindir`` the programs of an installed one, ``dsn`` an existing one, and its address has no password here: one
    of the three at most. ``level`` is its place on the axis of a sweep. ``published_tps`` is what the source measured;
    ``published_text`` how it says so where that is no plain figure.
    """

    about: str
    builds_on: str | None = None
    settings: dict[str, str] = {}
    condition: Condition | None = None
    variables: dict[str, str] = {}
    workload: WorkloadChange | None = None
    version: str | None = None
    bindir: str | None = None
    dsn: str | None = None
    level: float | None = None
    published_tps: float | None = None
    published_text: str | None = None


class WarmUpEnd(str, Enum):
    """What ends a warm-up: its time, or the server's coming to rest within it."""

    TIME = "time"
    STEADY = "steady"


class Profile(Record):
    """How much of it: ``measure_s`` by arm, blocks at least and at most, and the budget that ends the run.

    Only the arms that ``measure_s`` names are run, and only claims about these are judged; with ``claims``, names of
    them, no others.
    A budget in seconds counts from the start of the first trial; a block that cannot be finished in it is not started,
    but for the last of ``blocks_min``, without which there is no verdict: it may overrun the budget by ``overrun_s``,
    None for a quarter of it.
    With ``blocks_min`` equal to ``blocks_max`` nobody stops on what was seen, and the interval is the narrower one of
    a fixed number of blocks. ``warehouses`` is TPC-C's size, ``isolation`` overrides its workload's.
    ``clients`` and ``threads`` override the workload's; ``settings``, by arm, those of the arm and of whatever builds
    on it, unless set there again. With ``calibration_s`` one arm is measured for that long before the blocks, to
    learn the minimum detectable effect, outside of the budget. With ``warm_up_ends`` steady, ``warm_up_s`` is
    the longest warm-up: it ends as soon as TPS and the share of pages missed agree in two bins of 5 s. With
    ``interleaved`` the arms of a block run together and take turns in short windows, where that is safe.
    """

    warm_up_s: float
    measure_s: dict[str, float]
    blocks_min: int
    blocks_max: int
    budget_s: float
    warehouses: int | None = None
    isolation: Isolation | None = None
    clients: int | None = None
    threads: int | None = None
    settings: dict[str, dict[str, str]] = {}
    calibration_s: float = 0.0
    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME
    claims: tuple[str, ...] = ()
    interleaved: bool = False
    overrun_s: float | None = None

    @property
    def blocks_fixed(self) -> int | None:
        """The number of blocks where it is fixed beforehand, so that nobody stops on what was seen; else None."""
        return self.blocks_max if self.blocks_min == self.blocks_max else None


class Counter(str, Enum):
    """Mechanism counters: what should have moved if the claimed cause is the true one.

    ``lock_wait_share`` of the active client backends wait for a lock; ``dead_rows_kept_share`` of the dead rows
    that autovacuum met by its log lines could not be removed; ``logged_memory_read_share`` of the grand totals of
    logged memory contexts is in the contexts that were read back. The last five need statistics or a log that tell
    of statements: ``query_ids`` under which pg_stat_statements counts what the load sent, ``statement_texts`` that
    differ among those that were logged, ``plans_linked_share`` of the logged plans whose query id leads to their
    own statement in the statistics, ``fingerprint_agreement``, the share of all pairs of logged texts that query
    ids and fingerprints put together or apart alike.
    """

    BUFFER_HITS_PER_TRANSACTION = "buffer_hits_per_transaction"
    PROBE_PAGES = "probe_pages"
    PROBE_SEQUENTIAL_SCANS = "probe_sequential_scans"
    HIT_RATIO = "hit_ratio"
    READ_CALLS_PER_TRANSACTION = "read_calls_per_transaction"
    READ_CALLS_PER_S = "read_calls_per_s"
    VACUUMS_PER_S = "vacuums_per_s"
    ANALYZES_PER_S = "analyzes_per_s"
    CHECKPOINT_INTERVAL_S = "checkpoint_interval_s"
    WAL_BYTES_PER_TRANSACTION = "wal_bytes_per_transaction"
    FULL_PAGE_IMAGES_PER_TRANSACTION = "full_page_images_per_transaction"
    WAL_BUFFERS_FULL_PER_S = "wal_buffers_full_per_s"
    SEQUENTIAL_SCAN_SHARE = "sequential_scan_share"
    SERVER_CPU_SHARE = "server_cpu_share"
    SERVER_CPU_US_PER_TRANSACTION = "server_cpu_us_per_transaction"
    BACKEND_MEMORY_BYTES = "backend_memory_bytes"
    STATEMENTS_PER_S = "statements_per_s"
    LOCK_WAIT_SHARE = "lock_wait_share"
    HORIZON_AGE_XIDS = "horizon_age_xids"
    TPS_KEPT_AFTER_AN_HOUR = "tps_kept_after_an_hour"
    DEAD_ROWS_KEPT_SHARE = "dead_rows_kept_share"
    LOGGED_MEMORY_READ_SHARE = "logged_memory_read_share"
    BACKENDS_ON_ONE_QUERY_ID = "backends_on_one_query_id"
    QUERY_IDS = "query_ids"
    STATEMENT_TEXTS = "statement_texts"
    PLANS_LINKED_SHARE = "plans_linked_share"
    FINGERPRINT_AGREEMENT = "fingerprint_agreement"


class Mechanism(Record):
    """The counter, or custom metric of the study, that must differ between the arms for the cause to be believed.

    Its value in the claim's arm must be at least ``ratio_min`` times that in the control; a ``ratio_min`` below 1
    claims that it fell, to that many times or less.
    """

    counter: str
    ratio_min: float
    about: str


class PublishedWindow(Record):
    """A published series: consecutive windows of ``window_s`` seconds and the TPS in each, for one arm."""

    arm: str
    window_s: float
    tps: tuple[float, ...]


class PublishedRatio(Record):
    """One of several figures that a source gives for the same thing."""

    ratio: float
    text: str


class Direction(str, Enum):
    """How the arm's measure compares with the control's.

    ``equal`` is a claim of equivalence within the margin; ``not_lower`` and ``not_higher`` are claims of
    non-inferiority: within the margin on that side, however far on the other.
    """

    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"
    NOT_LOWER = "not_lower"
    NOT_HIGHER = "not_higher"


class Bound(str, Enum):
    """Whether the source's figure is a limit, as in "more than twice" or "under 200"."""

    AT_LEAST = "at_least"
    AT_MOST = "at_most"


class Published(Record):
    """What the source itself prints about the claim; ``text`` is its sentence or its figures.

    ``ratio`` is the arm's measure divided by the control's, only where the source prints it or where it follows from
    figures that the source prints; ``follows_from`` then says from which. Without a ratio the source gives a
    ``direction`` alone.
    """

    text: str
    ratio: float | None = None
    bound: Bound | None = None
    follows_from: str | None = None
    direction: Direction | None = None


class Expected(Record):
    """What follows from the claimed mechanism and no source prints: a direction, with the reason for it."""

    direction: Direction
    reason: str


class Revision(Record):
    """A change of a claim, its region or its protocol, on ``date`` (YYYY-MM-DD).

    ``results_seen`` is whether results of the earlier form were known by then.
    """

    date: str
    what: str
    why: str
    results_seen: bool


class Question(Record):
    """The measure of ``arm`` against that of ``control``, TPS in the last ``tail_s`` seconds of each trial.

    Nothing is claimed about the answer: what a comparison asks. ``measure`` is what is compared in place of the TPS: a
    counter, custom metric, or ``decline``, how far the TPS came from begin to end of a trial, as a ratio. One with
    ``levels``, three to nine arms in the order of their level, is a sweep from ``control``, the first, to ``arm``, the
    last: it is judged by the trend over all of them, and with ``every_step`` also by each step from one level to the
    next. Without ``tail_s`` whole trials are compared. ``region`` overrides the region of the ratio that counts as
    yes. With ``reference_value`` the measure is held against that figure in place of the control's.
    """

    name: str
    text: str
    arm: str
    control: str
    measure: str = "tps"
    levels: tuple[str, ...] = ()
    every_step: bool = False
    reference_value: float | None = None
    tail_s: float | None = None
    region: tuple[float, float | None] | None = None
    region_reason: str | None = None
    mechanisms: tuple[Mechanism, ...] = ()

    @property
    def region_edges(self) -> tuple[float, float] | None:
        """Both ends of ``region``; without an upper limit (``inf`` in a file, null in JSON) it ends at infinity."""
        if self.region is None:
            return None
        low, high = self.region
        return low, math.inf if high is None else high

    @property
    def is_open(self) -> bool:
        """Nothing is claimed, neither by a source nor by an expectation."""
        return self.published is None and self.expected is None

    @property
    def published_ratio(self) -> float | None:
        """The ratio that a source prints; None where none does."""
        return self.published.ratio if self.published is not None else None

    # What only a claim has: a question has none of it.

    @property
    def published(self) -> Published | None:
        return None

    @property
    def expected(self) -> Expected | None:
        return None

    @property
    def published_windows(self) -> PublishedWindow | None:
        return None

    @property
    def published_others(self) -> tuple[PublishedRatio, ...]:
        return ()

    @property
    def revisions(self) -> tuple[Revision, ...]:
        return ()


class Claim(Question):
    """A question with an answer: ``published``, what a source prints, or ``expected``, what should follow.

    Without ``region``, which needs a ``region_reason``, the claimed region is half to twice the published log effect,
    or all beyond the equivalence margin where only a direction is known. ``published_others`` are the figures by which
    the source contradicts itself. ``revisions`` are all changes of the claim since it was first run.
    """

    published: Published | None = None
    expected: Expected | None = None
    published_windows: PublishedWindow | None = None
    published_others: tuple[PublishedRatio, ...] = ()
    revisions: tuple[Revision, ...] = ()


class Since(Record):
    """A setting that older servers do not have, or not with that value: from ``major`` on it is set as the arm says.

    Before, it is ``otherwise``, or left out; the verdict then has a doubt that says so.
    """

    major: int
    otherwise: str | None = None


class Scale(Record):
    """Something that the size of an effect depends on: as published, and what follows where it is different."""

    what: str
    published: str
    effect: str


class Source(Record):
    """Where the claim was published."""

    title: str
    author: str
    published: str
    url: str | None = None

    @property
    def link(self) -> str | None:
        """``url`` where a page may link to it: an http or https address; None for anything else, such as a script."""
        return self.url if self.url is not None and _WEB_ADDRESS.fullmatch(self.url) else None


class Study(Record):
    """A whole study file. ``version`` is the PostgreSQL it runs on unless the user names another.

    ``since`` is by setting. ``revisions`` are changes of the protocol, which concern every claim. ``question`` is what
    a comparison asks in place of claims; no study file has one.
    """

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
    since: dict[str, Since] = {}
    scale: tuple[Scale, ...] = ()
    revisions: tuple[Revision, ...] = ()
    question: Question | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that is asked of the trials: the claims, or the question of a comparison."""
        return (self.question,) if self.question is not None else self.claims
