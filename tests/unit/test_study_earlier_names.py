"""Keys of a study file under their earlier names: still read, never beside the present one."""

from __future__ import annotations

import pytest

from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.study.read import parse_study, study_text

PRESENT = study_text("global-counters")
EARLIER = PRESENT.replace("[workload.custom_metrics]", "[workload.gauges]").replace("calibration_s =", "prelude_s =")


def test_earlier_names_mean_the_same() -> None:
    assert "[workload.gauges]" in EARLIER and "prelude_s = " in EARLIER
    assert parse_study(EARLIER, "study.toml") == parse_study(PRESENT, "study.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PRESENT.replace(
                "[workload.custom_metrics]", "[workload.gauges]\none = 'select 1'\n[workload.custom_metrics]"
            ),
            "workload.gauges is the earlier name of workload.custom_metrics",
        ),
        (
            PRESENT.replace("calibration_s = ", "prelude_s = 60\ncalibration_s = "),
            r"profiles\.\w+\.prelude_s is the earlier name of profiles\.\w+\.calibration_s",
        ),
    ],
)
def test_both_names_at_once_are_refused(text: str, message: str) -> None:
    with pytest.raises(StudyFileError, match=message):
        parse_study(text, "study.toml")


def test_an_earlier_name_elsewhere_is_unknown() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown key 'gauges'"):
        parse_study("gauges = 1\n" + PRESENT, "study.toml")
