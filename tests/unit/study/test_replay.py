"""A recorded horizon in a study file: read beside the study, and a literal from then on."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
import pytest

from pgclinic.errors import StudyFileError, UsageError
from pgclinic.model.horizon import HorizonRecording, ReplayedHold
from pgclinic.model.study import Condition, Study
from pgclinic.model.twin import HorizonHold
from pgclinic.store.document import write_document
from pgclinic.study.compare_arms import parse_arm
from pgclinic.study.read import parse_study, read_study

SHIPPED = (resources.files("pgclinic") / "studies" / "horizon-replayed.toml").read_text(encoding="utf-8")
RECORDING = HorizonRecording(
    pgclinic="0",
    server_version="18.0",
    database="shop",
    began_epoch_s=0.0,
    duration_s=40.0,
    every_s=1.0,
    bin_s=1.0,
    series=(),
    holds=(HorizonHold(kind="session", began_s=10.0, held_s=20.0),),
    samples=40,
)


def test_the_shipped_study_has_the_holds_of_its_day() -> None:
    study, text = read_study("horizon-replayed")
    assert text == SHIPPED
    day, cut = study.arms["day"].condition, study.arms["timed-out"].condition
    assert day is not None
    assert cut is not None
    assert len(day.holds) > 10
    assert max(hold.until_s - hold.at_s for hold in day.holds) > 1.5
    # Five minutes of the day.
    assert max(hold.until_s - hold.at_s for hold in cut.holds) <= 300 * 12 / 86_400 + 1e-6
    assert all(hold.until_s <= 12 for hold in day.holds)
    assert msgspec.json.decode(msgspec.json.encode(study), type=Study) == study


def test_a_file_beside_the_study_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SHIPPED, encoding="utf-8")
    with pytest.raises(
        StudyFileError, match=r"arms\.day\.condition\.replay_horizon: .*horizon-day\.json cannot be read"
    ):
        read_study(str(tmp_path / "mine.toml"))
    (tmp_path / "horizon-day.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StudyFileError, match="is not a recording of the horizon"):
        read_study(str(tmp_path / "mine.toml"))
    write_document(tmp_path / "horizon-day.json", RECORDING, force=True)
    condition = read_study(str(tmp_path / "mine.toml"))[0].arms["day"].condition
    assert condition is not None
    assert condition.holds == (ReplayedHold(at_s=3.0, until_s=9.0),)


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("{ replay_s = 60.0 }", "replay_s and replay_hold_s_max need replay_horizon"),
        ("{ replay_hold_s_max = 60.0 }", "need replay_horizon"),
        ('{ replay_horizon = "a", horizon_held_by = "session" }', "mutually exclusive"),
        ("{ holds = [{ at_s = 2.0, until_s = 1.0 }] }", "until_s above it"),
        ('{ replay_horizon = "a", replay_s = 0.0 }', "replay_s is 0.0"),
    ],
)
def test_what_contradicts_itself_is_refused(condition: str, problem: str) -> None:
    right = '{ replay_horizon = "horizon-day.json", replay_s = 12.0 }'
    assert right in SHIPPED
    with pytest.raises(StudyFileError, match=problem):
        parse_study(SHIPPED.replace(right, condition, 1), "mine.toml")


def test_an_arm_of_a_comparison_replays_a_file(tmp_path: Path) -> None:
    file = tmp_path / "day.json"
    write_document(file, RECORDING)
    assert parse_arm([f"condition:replay={file}"], "--b").condition == Condition(
        replay_horizon=str(file), holds=(ReplayedHold(at_s=10.0, until_s=30.0),)
    )
    stretched = parse_arm([f"condition:replay={file}@4"], "--b").condition
    assert stretched.holds == (ReplayedHold(at_s=1.0, until_s=3.0),)
    with pytest.raises(UsageError, match="condition:replay=x must be a number of seconds"):
        parse_arm([f"condition:replay={file}@x"], "--b")
    with pytest.raises(UsageError, match="exists already"):
        write_document(file, RECORDING)
