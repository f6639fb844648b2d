"""Treatments as files: the finding that is meant, statements that can run, and comments that nothing escapes from."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import client
from fixtures.checkups import DEAD_ROWS, FULL_PAGES, HEALTHY, HELD, SICK, SNAPSHOT, UNUSED
from pgclinic.checkup.treat import chosen_treatment, find_finding, statements_of, undo_of, usual_treatment
from pgclinic.checkup.treatment_steps import TreatmentStep, rank_of, safe_steps
from pgclinic.cli.main import run
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.finding import Applies, Proof, Treatment
from pgclinic.model.plan_proof import PlanProof, PlanWord
from pgclinic.model.snapshot import SettingState
from pgclinic.report.exports.treatment import checked_lines, treatment_conf, treatment_sql
from pgclinic.store.checkup_folder import write_checkup

#: 20:00 UTC of the day of the snapshot, and a microsecond.
BEGAN_S = 1_699_992_000.000001
WITH_SESSION = replace(
    SNAPSHOT,
    sessions=(
        client(
            4711,
            state="idle in transaction",
            transaction_s=8040.0,
            backend_start_epoch_s=BEGAN_S,
            transaction_start_epoch_s=BEGAN_S + 60.499999,
        ),
    ),
)


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


TREATMENTS = tuple(
    Treatment(title=f"an index on {columns}", applies=Applies.STATEMENT, sql=(f"create index on t ({columns})",))
    for columns in ("a", "a, b")
)


def proof(treatment: int, word: str, ratio: float) -> Proof:
    by_plans = PlanProof(
        word=PlanWord.CURED, ratio=ratio, statements=(), tried=1, tried_time_share=1.0, draws=1, unchanged=()
    )
    return Proof(treatment=treatment, word=word, plans=by_plans)


def test_without_a_number_the_treatment_that_was_shown_to_save_most_is_given() -> None:
    finding = replace(DEAD_ROWS, treatments=TREATMENTS, proofs=())
    assert usual_treatment(finding) == 0
    cured = (proof(0, "cured by plans", 0.9), proof(1, "cured by plans", 0.8))
    assert usual_treatment(replace(finding, proofs=cured)) == 1
    assert chosen_treatment(replace(finding, proofs=cured), None) is finding.treatments[1]
    assert usual_treatment(replace(finding, proofs=(cured[0], replace(cured[1], word="slower")))) == 0
    assert usual_treatment(replace(finding, treatments=())) is None


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
        treatments=tuple(replace(treatment, title=name, risk=name, lock=name) for treatment in HELD.treatments),
        references=(name,),
    )
    sql = treatment_sql(SICK, evil, evil.treatments[0], WITH_SESSION)
    live = [line for line in sql.splitlines() if line and not line.startswith("--")]
    assert live == [
        "set search_path to pg_catalog, pg_temp;",
        "select pg_terminate_backend(pid)",
        "  from pg_stat_activity",
        " where pid = 4711",
        "   and backend_start = timestamptz '2023-11-14 20:00:00.000001+00'",
        "   and xact_start = timestamptz '2023-11-14 20:01:00.500000+00'",
        "   and state = 'idle in transaction';",
    ]
    conf = treatment_conf(SICK, evil, evil.treatments[1])
    assert [line for line in conf.splitlines() if line and not line.startswith("#")] == [
        "idle_in_transaction_session_timeout = '5min'"
    ]


def test_without_the_snapshot_no_session_is_ended() -> None:
    text = treatment_sql(SICK, HELD, HELD.treatments[0])
    assert not [line for line in text.splitlines() if line and not line.startswith("--")]
    assert "see who has this pid" in text


def test_a_setting_must_have_the_value_that_was_found() -> None:
    found = SettingState(
        name="max_wal_size",
        value="1024",
        unit="MB",
        source="default",
        file=None,
        line=None,
        default_value="1024",
        reset_value="1024",
        context="sighup",
        kind="integer",
        category="",
        pending_restart=False,
    )
    change = Treatment(title="x", applies=Applies.RELOAD, settings={"max_wal_size": "8GB"})
    steps = safe_steps(replace(SNAPSHOT, settings=(found,)), change)
    assert [step.check for step in steps] == [
        "(select setting from pg_settings where name = 'max_wal_size') = '1024'",
        None,
    ]
    (of_a_role, _) = safe_steps(replace(SNAPSHOT, settings=(replace(found, context="user"),)), change)
    assert of_a_role.check is None, "the role that runs the file may have its own"


def test_no_name_ends_a_check() -> None:
    name = "x$check$; drop table customer; do $check$"
    step = TreatmentStep(statement="select 1", check=f"to_regclass('{name}') is null", else_words=f"{name} 100% 'odd'")
    (start, *_, end, statement) = checked_lines(step)
    assert (start, end, statement) == ("do $check1$", "$check1$;", "select 1;")
    assert "100%% ''odd''" in " ".join(checked_lines(step))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("select pg_terminate_backend(1)", "create index concurrently a on b.c (d)"),
        ("rollback prepared 'x'", "select pg_drop_replication_slot('x')"),
        ("select pg_drop_replication_slot('x')", "vacuum a.b"),
        ("drop index concurrently a.b", "create index concurrently a on b.c (d)"),
        ("create index concurrently a on b.c (d)", "vacuum (full, analyze) a.b"),
    ],
)
def test_what_others_wait_for_comes_first(first: str, then: str) -> None:
    ranks = [rank_of(Treatment(title="x", applies=Applies.STATEMENT, sql=(one,))) for one in (first, then)]
    assert ranks[0] < ranks[1]


def test_the_script_of_all_findings_gives_each_treatment_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkup(tmp_path, SICK)
    (tmp_path / "snapshot.json").write_bytes(msgspec.json.encode(WITH_SESSION))
    assert run(["treat", str(tmp_path), "--all"]) == 0
    script = capsys.readouterr().out
    assert script.count("select pg_terminate_backend(pid)") == 1
    assert script.index("pg_terminate_backend") < script.index("drop index concurrently")
    given, listed = script.split("-- Not in this script:") if "-- Not in" in script else (script, "")
    positions = {int(number) for number in re.findall(r"-- Step \d+ of \d+, finding (\d+):", given)}
    positions |= {int(number) for number in re.findall(r"^-- Finding (\d+),", listed, re.MULTILINE)}
    assert positions == set(range(1, len(SICK.findings) + 1))
    for words in (["--all", "1"], [], ["--all", "--treatment", "2"], ["--all", "-o", str(tmp_path / "x.conf")]):
        assert run(["treat", str(tmp_path), *words]) == 1
    assert "name a finding, or --all" in capsys.readouterr().err


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
