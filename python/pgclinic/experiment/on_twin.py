"""What a run on a twin is: its data, the settings and the workload of its original, and how alike the two are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from pgclinic.bench.request import BenchRequest, ChosenScript, LabWanted
from pgclinic.experiment.kept_check import kept_check
from pgclinic.experiment.twin_check import COUNTING, CheckedTwin, CheckRequest, known_settings, usual_clients
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.sources import find_source
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.study import Study
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.wanted import TwinWanted

#: How long the workload runs on the twin before the first block, to see how alike it is.
CHECK_S = 10.0


@dataclass(frozen=True)
class OnTwin:
    """``settings`` are those of the original that all servers of the run have, ``clients`` as many as it had.

    ``checked`` has the workload; None where the user runs scripts of his own.
    """

    settings: dict[str, str]
    clients: int
    checked: CheckedTwin | None = None

    @property
    def fidelity(self) -> Fidelity | None:
        return self.checked.fidelity if self.checked is not None else None


def dataset_of(twin: TwinWanted) -> TwinDataset:
    """Raises UsageError: no such file, or no twin."""
    read_twin(twin.path)
    return keep_twin(twin.path, scale=twin.scale)


def major_of(twin: TwinWanted) -> str:
    """The major version of the original. Raises UsageError."""
    return str(read_twin(twin.path).version_num // 10_000)


def on_twin(
    twin: TwinWanted,
    binaries: Sequence[Binaries],
    *,
    clients: int | None,
    own_scripts: bool,
    on_stage: Callable[[str], None],
    check_s: float = CHECK_S,
    known: Mapping[int, CalibratedStatement] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> OnTwin:
    """The first of ``binaries`` runs the check, unless one of this twin is kept.

    ``known`` are statements by query id whose values have been found; once it ``should_stop`` no more are found.
    Raises UsageError, RunFailedError.
    """
    captured, first = read_twin(twin.path), binaries[0]
    checked = None
    if not own_scripts:
        checked = kept_check(
            twin.path,
            first,
            CheckRequest(seconds=check_s, clients=clients, scale=twin.scale),
            on_stage,
            known,
            should_stop,
        )
    settings = checked.settings if checked is not None else known_settings(first, captured)
    for other in binaries[1:]:
        has = known_settings(other, captured)
        settings = {name: value for name, value in settings.items() if name in has}
    if checked is not None:
        # What the blocks say of the original are times of single statements, as the server counts them.
        settings = settings | COUNTING
    return OnTwin(settings=settings, clients=clients or usual_clients(captured), checked=checked)


def study_on_twin(study: Study, found: OnTwin) -> Study:
    """The study with the twin's settings below those of its arms and, if it was checked, with its workload."""
    arms = {name: structs.replace(arm, settings=found.settings | arm.settings) for name, arm in study.arms.items()}
    workload = structs.replace(study.workload, clients=found.clients)
    if found.checked is not None:
        workload = structs.replace(workload, scripts=found.checked.mix.scripts)
    return structs.replace(study, arms=arms, workload=workload)


def bench_on_twin(
    request: BenchRequest, lab: LabWanted, twin: TwinWanted, on_stage: Callable[[str], None]
) -> tuple[BenchRequest, Fidelity | None]:
    """The request on the twin's version and settings, and without scripts of the user's own with its workload.

    How alike the twin is comes with its workload. Raises UsageError, RunFailedError.
    """
    version = lab.version or major_of(twin)
    binaries = find_source(version).ensure()
    found = on_twin(
        twin, (binaries,), clients=request.clients or None, own_scripts=bool(request.scripts), on_stage=on_stage
    )
    settled = replace(
        request,
        clients=found.clients,
        threads=min(request.threads, found.clients),
        lab=replace(lab, version=version, settings=found.settings | lab.settings),
    )
    if found.checked is None:
        return settled, None
    scripts = tuple(ChosenScript(script=script) for script in found.checked.mix.scripts)
    return replace(settled, scripts=scripts), found.checked.fidelity
