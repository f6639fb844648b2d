"""Treatments as files: the finding that is meant, statements that can run, and comments that nothing escapes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.checkups import DEAD_ROWS, FULL_PAGES, HEALTHY, HELD, SICK, UNUSED
from pgclinic.checkup.treat import chosen_treatment, find_finding, statements_of, undo_of
from pgclinic.cli.main import run
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.finding import Applies, Treatment
from pgclinic.report.treatment_text import treatment_conf, treatment_sql
from pgclinic.store.checkup_folder import write_checkup


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("1", HELD.key),
        (str(len(SICK.findings) - 1), DEAD_ROWS.key),
        (HELD.key, HELD.key),
        ("dead-rows", DEAD_ROWS.key),
        (UNUSED[2].key, UNUSED[2].key),
    ],
)
def test_a_finding_has_three_names(word: str, key: str) -> None:
    assert find_finding(SICK, word).key == key


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("unused-indexes", "was found 8 times", "2, 3, 4"),
        ("0", "there is no finding 0", f"has {len(SICK.findings)}"),
        ("99", "there is no finding 99", f"has {len(SICK.findings)}"),
        ("dead-row", "unknown finding 'dead-row'", "did you mean dead-rows?"),
        ("dead-rows:public.counter", "unknown finding", "did you mean dead-rows:public.counters?"),
    ],
)
def test_an_unknown_finding_is_named_with_the_nearest_one(word: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_finding(SICK, word)
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")


def test_a_healthy_server_needs_no_treatment() -> None:
    with pytest.raises(UsageError, match="no findings"):
        find_finding(HEALTHY, "1")


def test_treatments_are_chosen_by_number() -> None:
    assert chosen_treatment(HELD, None) is HELD.treatments[0]
    assert chosen_treatment(HELD, 2) is HELD.treatments[1]
    only_prevents = replace(HELD, treatments=HELD.treatments[1:])
    assert chosen_treatment(only_prevents, None) is HELD.treatments[1]
    with pytest.raises(UsageError, match="no treatment 3"):
        chosen_treatment(HELD, 3)
    with pytest.raises(UsageError, match="no treatment that could be written"):
        chosen_treatment(replace(HELD, treatments=()), None)


def test_settings_are_statements_and_lists_of_names_stay_lists() -> None:
    treatment = FULL_PAGES.treatments[0]
    assert statements_of(treatment) == (
        "alter system set shared_preload_libraries to 'pg_stat_statements', 'auto_explain'",
        "alter system set work_mem to '16MB'",
        "select pg_reload_conf()",
    )
    assert undo_of(treatment) == (
        "alter system set shared_preload_libraries to 'pg_stat_statements'",
        "alter system reset work_mem",
        "select pg_reload_conf()",
    )
    odd = Treatment(title="x", applies=Applies.RELOAD, settings={"auto_explain.log_min_duration": "it's"})
    assert statements_of(odd)[0] == "alter system set auto_explain.log_min_duration to 'it''s'"


def test_no_name_ends_a_comment() -> None:
    name = "public.odd\ndrop table customer;\r\nname"
    evil = replace(
        HELD,
        title=name,
        subject=name,
        key=f"x:{name}",
        mechanism=name,
        evidence=tuple(replace(one, name=name) for one in HELD.evidence),
        treatments=tuple(replace(one, title=name, risk=name, lock=name) for one in HELD.treatments),
        references=(name,),
    )
    sql = treatment_sql(SICK, evil, evil.treatments[0])
    live = [line for line in sql.splitlines() if line and not line.startswith("--")]
    assert live == ["select pg_terminate_backend(4711);"]
    conf = treatment_conf(SICK, evil, evil.treatments[1])
    assert [line for line in conf.splitlines() if line and not line.startswith("#")] == [
        "idle_in_transaction_session_timeout = '5min'"
    ]


def test_what_an_application_must_do_is_a_comment() -> None:
    words = Treatment(title="page by key", applies=Applies.APPLICATION, sql=("where id > last order by id limit 50",))
    text = treatment_sql(SICK, replace(HELD, treatments=(words,)), words)
    assert all(line.startswith("--") for line in text.splitlines() if line)
    assert "where id > last" in text


def test_the_command_writes_a_file_and_overwrites_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_checkup(tmp_path, SICK)
    file = tmp_path / "one.sql"
    assert run(["treat", str(tmp_path), "1"]) == 0
    printed = capsys.readouterr().out
    assert run(["treat", str(tmp_path), "1", "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == printed
    assert capsys.readouterr().out == f"{file}\n"
    assert run(["treat", str(tmp_path), "2", "-o", str(file)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert run(["treat", str(tmp_path), "2", "-o", str(file), "--force"]) == 0
    assert "drop index concurrently" in file.read_text(encoding="utf-8")
    conf = tmp_path / "one.conf"
    assert run(["treat", str(tmp_path), "1", "-o", str(conf)]) == 1
    assert run(["treat", str(tmp_path), "1", "--treatment", "2", "-o", str(conf)]) == 0
    assert "idle_in_transaction_session_timeout = '5min'" in conf.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["treat", str(tmp_path / "nowhere"), "1"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert run(["treat", str(tmp_path.parent), "1"]) == 1
    assert "is not the run folder of a checkup" in capsys.readouterr().err


def test_an_unknown_name_is_an_error_of_its_own() -> None:
    with pytest.raises(UnknownNameError):
        find_finding(SICK, "nothing like it")
