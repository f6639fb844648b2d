"""Illnesses of logging and of what can be seen: on real servers, treated, and gone."""

from __future__ import annotations

import pytest

from fixtures.patient import Illness, Patient, check_illness, illness_cases

_EXPLAIN = {
    "shared_preload_libraries": "pg_stat_statements,auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
}


def work(patient: Patient) -> None:
    patient.sql("select 1", "select 2")


def drop_the_extension(sick: Patient) -> None:
    sick.sql("drop extension pg_stat_statements")


def run_statements(patient: Patient, count: int) -> None:
    """Texts that differ in more than constants: each has one column more."""
    patient.sql(*(f"select {', '.join(['1'] * (number + 1))}" for number in range(count)))


def create_an_old_version(sick: Patient) -> None:
    sick.sql("drop extension pg_stat_statements", "create extension pg_stat_statements version '1.9'")


ILLNESSES = (
    Illness(
        pathology="log-all-statements",
        settings={"log_statement": "all", "log_min_duration_statement": "0"},
        near_settings={"log_statement": "ddl", "log_min_duration_statement": "250ms"},
        sicken=work,
        near_miss=work,
        names=("log_statement", "log_min_duration_statement", "value all"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="query-identifiers-off",
        settings={"compute_query_id": "off"},
        near_settings={},
        sicken=work,
        near_miss=work,
        names=("compute_query_id", "value off"),
        majors=("14", "18"),
    ),
    Illness(
        pathology="statement-statistics-missing",
        sicken=drop_the_extension,
        near_miss=work,
        names=("pg_stat_statements", "created in this database no"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="statement-statistics-evicted",
        settings={"pg_stat_statements.max": "100"},
        sicken=lambda sick: run_statements(sick, 300),
        near_miss=lambda near: run_statements(near, 10),
        names=("pg_stat_statements.max", "value 100"),
        majors=("14", "18"),
    ),
    Illness(
        pathology="activity-tracking-off",
        settings={"track_activities": "off"},
        near_settings={},
        sicken=work,
        near_miss=work,
        names=("track_activities", "value off"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="auto-explain-overhead",
        settings=_EXPLAIN,
        near_settings={**_EXPLAIN, "auto_explain.log_min_duration": "250ms", "auto_explain.log_timing": "off"},
        sicken=work,
        near_miss=work,
        names=("auto_explain.log_timing", "auto_explain.log_min_duration"),
        majors=("13", "18"),
    ),
    Illness(
        pathology="extension-outdated",
        sicken=create_an_old_version,
        near_miss=work,
        names=("extension pg_stat_statements", "version 1.9"),
    ),
)


@pytest.mark.parametrize(
    ("illness", "major"),
    illness_cases(ILLNESSES),
)
def test_an_illness_is_found_treated_and_gone(illness: Illness, major: str) -> None:
    check_illness(illness, major)
