"""Checks of twins that are kept beside their files, so that the next comparison on the same twin begins at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pgclinic.experiment.twin_check import CheckedTwin, CheckRequest, check_twin
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.home import folder
from pgclinic.load.tool import this_tool
from pgclinic.model.decoding import decoded_json
from pgclinic.store.run_folder import write_whole
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.parameters import OmissionReason


def kept_check(
    path: Path,
    binaries: Binaries,
    request: CheckRequest,
    on_stage: Callable[[str], None] = lambda _: None,
    known: Mapping[int, CalibratedStatement] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> CheckedTwin:
    """The check of this twin by this version of the server and of pgclinic, run now unless it was before.

    ``known`` are statements by query id whose values have been found; once it ``should_stop`` no more are found, and
    the check is not kept. Raises what ``check_twin`` raises.
    """
    kept = find_check(path, binaries, request)
    if kept is not None:
        return kept
    checked = check_twin(path, binaries, request, known=known, should_stop=should_stop, on_stage=on_stage)
    if not any(statement.reason == OmissionReason.TIME.value for statement in checked.fidelity.omitted):
        write_whole(_place(path, binaries, request), msgspec.json.encode(checked))
    return checked


def find_check(path: Path, binaries: Binaries, request: CheckRequest) -> CheckedTwin | None:
    """The check that is kept, for however many seconds the workload ran in it; None where there is none."""
    try:
        return decoded_json(_place(path, binaries, request).read_bytes(), CheckedTwin)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError:
        # Written by a build with other records; it is made anew.
        return None


def _place(path: Path, binaries: Binaries, request: CheckRequest) -> Path:
    dataset = keep_twin(path, scale=request.scale)
    asked = msgspec.json.encode(replace(request, seconds=0.0)).decode()
    identity = f"{binaries.identity}|{dataset.key}|{asked}|{this_tool()}"
    return folder("twins") / f"{dataset.sha256[:16]}-{sha256(identity.encode()).hexdigest()[:16]}.check.json"
