"""A next step: its rows, its commands, and budgets as a command takes them."""

from __future__ import annotations

from pgclinic.report.sections.next.step import (
    NextStep,
    budget_words,
    next_lines,
    next_rows,
    setting_statements,
    with_budget,
)

RESUME = NextStep("run more blocks", ("pgclinic compare --resume runs/one --blocks 9",))


def test_a_command_stays_in_one_line_and_says_what_must_be_added() -> None:
    assert list(next_rows(RESUME, "with PGPASSWORD")) == [
        ("next", "run more blocks"),
        ("", "pgclinic compare --resume runs/one --blocks 9"),
        ("", "with PGPASSWORD"),
    ]
    assert list(next_rows(NextStep("run it", ("pgclinic lab",)), "with PGPASSWORD"))[1:] == [("", "pgclinic lab")]
    lines = next_lines(NextStep("a " * 60, ("b " * 60,)), 11, 80)
    assert lines[0].startswith("  next       a a")
    assert lines[-1] == "             " + "b " * 60
    assert next_lines(None, 11, 80) == []


def test_a_setting_goes_to_its_value_or_to_its_default() -> None:
    assert setting_statements({"work_mem": "64MB", "jit": None}) == (
        "alter system set work_mem to '64MB';",
        "alter system reset jit;",
        "-- then restart the server",
    )


def test_a_budget_takes_the_place_of_another() -> None:
    command = ("pgclinic", "advise", "shop.twin", "--budget", "5m", "--plain", "--budget=1h")
    assert with_budget(command, 1200) == "pgclinic advise shop.twin --plain --budget 20m"
    assert [budget_words(each) for each in (30, 119.6, 286, 300)] == ["30s", "120s", "5m", "5m"]
