"""The recordings of a horizon that the conditions of a study replay: read beside the study, they become literals."""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path

from msgspec.structs import replace

from pgclinic.errors import StudyFileError, UsageError
from pgclinic.model.horizon import HorizonRecording
from pgclinic.model.study import ArmFile, Condition, Study
from pgclinic.samples.horizon_holds import holds_to_replay
from pgclinic.store.document import decode_document, read_document

#: What a recording is called in errors.
RECORDING = "a recording of the horizon"


def with_replays(study: Study, name_or_path: str) -> Study:
    """The study with the holds of all recordings that it names.

    A name is that of a file beside the study's own, for a shipped study of one shipped with it. Raises StudyFileError.
    """
    arms = {name: _with_holds(arm, name, name_or_path) for name, arm in study.arms.items()}
    return replace(study, arms=arms)


def replaying(condition: Condition, recording: HorizonRecording) -> Condition:
    """The condition with the holds of its recording."""
    longest_s = math.inf if condition.replay_hold_s_max is None else condition.replay_hold_s_max
    return replace(condition, holds=holds_to_replay(recording, condition.replay_s, longest_s))


def read_recording(path: Path) -> HorizonRecording:
    """The recording in a file. Raises UsageError."""
    return read_document(path, HorizonRecording, RECORDING)


def _with_holds(arm: ArmFile, name: str, study: str) -> ArmFile:
    condition = arm.condition
    if condition is None or condition.replay_horizon is None:
        return arm
    try:
        recording = _recording(condition.replay_horizon, study)
    except UsageError as error:
        raise StudyFileError(
            f"{study}: arms.{name}.condition.replay_horizon: {error.message}", hint=error.hint
        ) from error
    return replace(arm, condition=replaying(condition, recording))


def _recording(name: str, study: str) -> HorizonRecording:
    if study.endswith(".toml"):
        return read_recording(Path(study).parent / name)
    content = (resources.files("pgclinic") / "studies" / name).read_bytes()
    return decode_document(content, HorizonRecording, where=name, what=RECORDING)
