"""The twin of the database that a checkup looked at: captured once, built at the scale that the budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.capture.twin import capture_twin
from pgclinic.checkup.case import Case
from pgclinic.checkup.live_settings import fitting
from pgclinic.checkup.proof_request import ProofRequest
from pgclinic.checkup.tried_on_twin import ChangeTrial
from pgclinic.errors import RunFailedError
from pgclinic.experiment.on_twin import OnTwin, dataset_of, on_twin
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import Twin
from pgclinic.pg.session import Access, Session
from pgclinic.pg.statement_kind import StatementKind
from pgclinic.store.machine import read_machine
from pgclinic.trial.server import binaries_of, template_of
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.file import write_twin
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.wanted import TwinWanted

#: Rows of a twin that are made in a second, and the part of the budget that they may take.
ROWS_PER_S = 30_000.0
_BUILD_SHARE = 0.25
#: Fewer calls in the observation are not the workload of the server.
_CALLS_MIN = 50
_TIMEOUT_MS = 60_000


@dataclass(frozen=True)
class ProvingTwin:
    """``smaller`` says in words which settings are not those of the original, as this machine cannot have them."""

    twin: Twin
    wanted: TwinWanted
    server: ChosenServer
    on: OnTwin
    smaller: tuple[str, ...]

    @property
    def dataset(self) -> TwinDataset:
        return dataset_of(self.wanted)

    @property
    def words(self) -> str:
        scale = f", {self.wanted.scale:g} of the rows" if self.wanted.scale < 1.0 else ""
        less = "".join(f", {one}" for one in self.smaller)
        return f"twin of {self.twin.database}, PostgreSQL {self.server.spec.version}{scale}{less}"


def proving_twin(
    case: Case,
    access: Access,
    request: ProofRequest,
    query_ids: Collection[int],
    on_stage: Callable[[str], None],
) -> ProvingTwin:
    """Capture, keep, build and check it. ``query_ids`` are statements that its workload has to have.

    Raises UsageError, UnknownNameError, RunFailedError.
    """
    on_stage(f"capturing a twin of {case.snapshot.server.database}")
    captured = _captured(access, request, query_ids)
    settings, smaller = fitting(captured.settings, case, read_machine().memory_bytes)
    twin = mask_twin(replace(captured, settings=settings))
    request.folder.mkdir(parents=True, exist_ok=True)
    path = request.folder / f"{captured.database.replace('/', '_')}.twin"
    write_twin(path, twin, masked_text=request.masked_text(twin), force=True)
    wanted = TwinWanted(path, scale=_scale(twin, request.budget_s))
    server = choose_server(ServerAsked(version=str(case.major)), on_stage=on_stage)
    on = on_twin(
        wanted,
        (binaries_of(server.spec),),
        clients=None,
        own_scripts=False,
        on_stage=on_stage,
        check_s=request.check_s,
    )
    return ProvingTwin(twin=twin, wanted=wanted, server=server, on=on, smaller=smaller)


@contextmanager
def change_trial(proving: ProvingTwin) -> Iterator[ChangeTrial]:
    """A server with the twin, on which changes are tried one by one."""
    binaries = binaries_of(proving.server.spec)
    template = template_of(binaries, proving.dataset)
    if proving.on.checked is None:
        raise RunFailedError("the twin has no workload")
    with start_server(binaries, settings=proving.on.settings, template=template) as running:
        access = Access(running.server, running.secrets, author=AUTHOR)
        with Session(
            access.of_author,
            statement_timeout_ms=_TIMEOUT_MS,
            application_name="pgclinic-prove",
            users_search_path=True,
        ) as session:
            yield ChangeTrial(session, proving.twin, proving.on.checked.mix.statements)


def _captured(access: Access, request: ProofRequest, query_ids: Collection[int]) -> Twin:
    """With the workload of an observation, whose transactions can be grouped; else with that since the reset."""
    observed = capture_twin(access, observe_s=request.observe_s)
    seen = {one.query_id: one.calls for one in observed.workload.statements if StatementKind(one.kind).has_plan}
    if sum(seen.values()) >= _CALLS_MIN and set(query_ids) <= set(seen):
        return observed
    whole = capture_twin(access)
    has_more = len(whole.workload.statements) > len(seen)
    return whole if has_more else observed


def _scale(twin: Twin, budget_s: float) -> float:
    """All rows, or as many as can be made in a part of the budget; in whole percents, so that templates are shared."""
    rows = sum(table.rows or 0.0 for table in twin.tables if not table.is_partitioned)
    share = budget_s * _BUILD_SHARE * ROWS_PER_S / max(rows, 1.0)
    return 1.0 if share >= 1.0 else max(0.01, math.floor(share * 100) / 100)
