"""The twin of the database that a checkup looked at: captured and built first, checked when there is time for it.

Rows and plans need no observation of the clients: while the rows are made, the clients of the original are observed,
and what they did then becomes the workload of the blocks. What an earlier command has kept of the same database is used
again: rows, values of statements, and the workload with its check where they are of now.
"""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from pgclinic.capture.live_session import live_session
from pgclinic.capture.twin import capture_twin
from pgclinic.capture.workload import capture_workload
from pgclinic.checkup.case import Case
from pgclinic.checkup.prove.live_settings import fitting
from pgclinic.checkup.prove.proof_request import ProofRequest
from pgclinic.checkup.statement_time import Meanwhile
from pgclinic.errors import PgclinicError
from pgclinic.experiment.kept_check import find_check
from pgclinic.experiment.on_twin import OnTwin, dataset_of, on_twin
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.experiment.twin_check import CheckRequest, known_settings
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.server import Server
from pgclinic.model.twin import Twin, TwinWorkload
from pgclinic.pg.session import Access
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.store.machine import read_machine
from pgclinic.trial.server import binaries_of, template_of
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.kept_capture import FoundCapture, find_capture, has_workload_of_now, keep_capture, with_workload_of
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.mix import calibrated_in_order
from pgclinic.twin.values import ValueSource
from pgclinic.twin.wanted import TwinWanted
from pgclinic.whatif.change_trial import ChangeTrial
from pgclinic.whatif.trial_session import trial_session

#: Rows of a twin that are made in a second, and the part of the budget that they may take.
ROWS_PER_S = 30_000.0
_BUILD_SHARE = 0.25
#: Fewer calls in the observation are not the workload of the server.
_CALLS_MIN = 50
_OBSERVED_TIMEOUT_MS = 5_000


@dataclass
class ProvingTwin:
    """``smaller`` says in words which settings are not those of the original, as this machine cannot have them.

    ``known`` are the statements whose values have been found, by query id; ``on`` is set once the twin was checked.
    ``kept`` is the file of an earlier command whose workload is of now; nothing is ``observed`` then.
    """

    twin: Twin
    wanted: TwinWanted
    server: ChosenServer
    smaller: tuple[str, ...]
    original: Server
    observed: _Observation | None = None
    kept: Path | None = None
    known: dict[int, CalibratedStatement] = field(default_factory=dict)
    on: OnTwin | None = None

    @property
    def dataset(self) -> TwinDataset:
        return dataset_of(self.wanted)

    @property
    def words(self) -> str:
        scale = f", {self.wanted.scale:.0%} of the rows" if self.wanted.scale < 1.0 else ""
        less = "".join(f", {one}" for one in self.smaller)
        return f"twin of {self.twin.database}, PostgreSQL {self.server.spec.version}{scale}{less}"

    @property
    def meanwhile(self) -> Meanwhile:
        """What the clients of the original sent while the twin was made; nothing where that is not known yet."""
        seen = self.observed.seen if self.observed is not None else None
        if seen is None or not seen.is_difference or not seen.since_s:
            return Meanwhile()
        return Meanwhile(
            seconds=seen.since_s,
            calls={statement.query_id: float(statement.calls) for statement in seen.statements},
            ms={statement.query_id: statement.total_ms for statement in seen.statements},
        )

    def check(
        self,
        request: ProofRequest,
        check_s: float,
        on_stage: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> OnTwin:
        """The twin with the workload that was observed meanwhile, and how closely it matches its original.

        Statements whose values have not been found when it ``should_stop`` are left out of the workload. Raises
        UsageError, RunFailedError.
        """
        if self.kept is not None:
            shutil.copyfile(self.kept, self.wanted.path)
            self.twin = read_twin(self.wanted.path)
        else:
            assert self.observed is not None
            self.twin = replace(self.twin, workload=self.observed.workload(self.twin.workload))
            _write(self.wanted.path, self.twin, request)
        self.on = on_twin(
            self.wanted,
            (binaries_of(self.server.spec),),
            clients=None,
            own_scripts=False,
            on_stage=on_stage,
            check_s=check_s,
            known=self.known,
            should_stop=should_stop,
        )
        checked = self.on.checked
        for statement in checked.mix.statements if checked is not None else ():
            self.known[statement.statement.counted.query_id] = statement
        keep_capture(self.original, self.wanted.path)
        return self.on


class _Observation(threading.Thread):
    """Observes the clients of the original beside what else is done. What fails leaves the counters since the reset."""

    def __init__(self, access: Access, seconds: float, query_ids: Collection[int]) -> None:
        super().__init__(name="pgclinic-observe-clients", daemon=True)
        self._access, self._seconds, self._query_ids = access, seconds, set(query_ids)
        self._seen: TwinWorkload | None = None

    def run(self) -> None:
        try:
            with live_session(self._access, statement_timeout_ms=_OBSERVED_TIMEOUT_MS) as session:
                self._seen = capture_workload(session, self._access.major, observe_s=self._seconds).workload
        except PgclinicError:
            return

    @property
    def seen(self) -> TwinWorkload | None:
        """What they did; None before the observation is over, and where it failed."""
        return None if self.is_alive() else self._seen

    def workload(self, since_reset: TwinWorkload) -> TwinWorkload:
        """The observed workload, whose transactions can be grouped, where it has enough calls; else the other."""
        self.join()
        seen = self._seen
        if seen is None:
            return since_reset
        calls = {
            statement.query_id: statement.calls
            for statement in seen.statements
            if StatementKind(statement.kind).has_plan
        }
        if sum(calls.values()) >= _CALLS_MIN and self._query_ids <= set(calls):
            return seen
        return since_reset if len(since_reset.statements) > len(calls) else seen


def proving_twin(
    case: Case,
    access: Access,
    request: ProofRequest,
    query_ids: Collection[int],
    on_stage: Callable[[str], None],
) -> ProvingTwin:
    """Capture, keep and build it, or find it again. ``query_ids`` are statements that its workload has to have.

    Raises UsageError, UnknownNameError, RunFailedError.
    """
    on_stage(f"capturing a twin of {case.snapshot.server.database}")
    captured = capture_twin(access)
    settings, smaller = fitting(captured.settings, case, read_machine().memory_bytes)
    captured = replace(captured, settings=settings)
    found = find_capture(access.server, captured) if request.uses_kept_twin else None
    if found is not None:
        on_stage(f"using the twin of {captured.database} again that an earlier command has captured")
    is_of_now = found is not None and has_workload_of_now(found.twin, set(query_ids))
    observed = None if is_of_now else _Observation(access, request.observe_s, query_ids)
    if observed is not None:
        observed.start()
    twin = with_workload_of(found.twin, captured) if found is not None else mask_twin(captured)
    request.folder.mkdir(parents=True, exist_ok=True)
    path = request.folder / f"{captured.database.replace('/', '_')}.twin"
    _write(path, twin, request)
    wanted = TwinWanted(path, scale=_scale(twin, request.budget_s))
    server = choose_server(ServerAsked(version=str(case.major)), on_stage=on_stage)
    template_of(binaries_of(server.spec), dataset_of(wanted), on_stage=on_stage)
    if not is_of_now:
        keep_capture(access.server, path)
    return ProvingTwin(
        twin=twin,
        wanted=wanted,
        server=server,
        smaller=smaller,
        original=access.server,
        observed=observed,
        kept=found.path if found is not None and is_of_now else None,
        known=_known_values(found, wanted.scale, server) if found is not None else {},
    )


def _known_values(found: FoundCapture, scale: float, server: ChosenServer) -> dict[int, CalibratedStatement]:
    """The values that were found for the check of the same rows."""
    checked = find_check(found.path, binaries_of(server.spec), CheckRequest(scale=scale))
    statements = checked.mix.statements if checked is not None else ()
    return {statement.statement.counted.query_id: statement for statement in statements}


@contextmanager
def change_trial(
    proving: ProvingTwin,
    case: Case,
    named: Collection[int],
    should_stop: Callable[[], bool],
    without: Collection[int] = (),
) -> Iterator[ChangeTrial]:
    """A server with the twin, on which changes are tried one by one, with all statements but those ``without``.

    Values are found for the statements that are ``named`` by findings, then for those with the most time until
    ``should_stop``.
    """
    binaries = binaries_of(proving.server.spec)
    with trial_session(binaries, proving.dataset, known_settings(binaries, proving.twin)) as session:
        source = ValueSource(session, proving.twin)
        proving.known = calibrated_in_order(session, source, proving.twin, named, should_stop, known=proving.known)
        whole = sum(statement.total_ms for statement in proving.twin.workload.statements) or 1.0
        captured = {statement.query_id: statement.total_ms / whole for statement in proving.twin.workload.statements}
        # What did not run while the server was observed has none of that time, whatever it took before.
        shares = {
            key: case.statement_share(key) if key in case.statement_ms else captured.get(key, 0.0)
            for key in proving.known
        }
        statements = tuple(statement for key, statement in proving.known.items() if key not in without)
        yield ChangeTrial(session, proving.twin, statements, shares, source)


def _write(path: Path, twin: Twin, request: ProofRequest) -> None:
    write_twin(path, twin, masked_text=request.masked_text(twin), force=True)


def _scale(twin: Twin, budget_s: float) -> float:
    """All rows, or as many as can be made in a part of the budget; in whole percents, so that templates are shared."""
    rows = sum(table.rows or 0.0 for table in twin.tables if not table.is_partitioned)
    share = budget_s * _BUILD_SHARE * ROWS_PER_S / max(rows, 1.0)
    return 1.0 if share >= 1.0 else max(0.01, math.floor(share * 100) / 100)
