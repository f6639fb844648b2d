"""The command line of ``pgclinic bench``: pgbench's acceptance is the measure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.pgbench import accepts, pgbench
from pgclinic.bench.builtin_scripts import list_text, script_text
from pgclinic.bench.command_line import read_command_line
from pgclinic.bench.getopt_long import Option
from pgclinic.bench.options import ALL_OPTIONS, help_text
from pgclinic.bench.request import BenchRequest, InitRequest, Show
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.load.engine import builtin_scripts
from pgclinic.load.pgbench_tables import PgbenchTables
from pgclinic.model.load import Protocol


def bench(*words: str, **environment: str) -> BenchRequest:
    asked = read_command_line(words, environment).asked
    assert isinstance(asked, BenchRequest)
    return asked


def init(*words: str) -> InitRequest:
    asked = read_command_line(["-i", *words], {}).asked
    assert isinstance(asked, InitRequest)
    return asked


def taken(words: list[str]) -> bool:
    try:
        read_command_line(words, {})
    except UsageError:
        return False
    return True


# One line, one command line; the real pgbench says whether it is a good one.
COMMAND_LINES = """
-c 0|-c abc|-c 1x|-c +3|-c  5|-c|-c 3000|-j 0|-j 5|-t 0|-T 0|-t 5 -T 5|-P 0|-s 0|-s  5 |-F 5 -i|-F 100 -i|-F 101 -i
-i|-i -c 2|-i -S|-i -v|-i -q|-q|-F 50|-I dt|-i -I dtgGvpf|-i -I xyz|-i -n -I v|--foreign-keys|-i --foreign-keys
-i --tablespace=x|--tablespace=x|-i --index-tablespace x|-i --partitions=2|--partitions=2|-i --partitions=-1
-i --partition-method=hash|-i --partition-method=hash --partitions 3|-i --partition-method=foo --partitions 3
-i --partition-method=HASH --partitions 3|-i --partition-method=range --partitions=0|-i --unlogged-tables
-i --unlogged-tables=1|--unlogged-tables|-i --random-seed=1|-i --debug|-i --verbose-errors|-i --exit-on-abort|-i -n
-i -P 1|-i -l|-i -r|-i -C|-i -j 2|-i -D a=1|-i -M simple|-i -L 4|-i -T 4|-i -t 4|-i -R 5|-i -s 3|-i -b list
-b foo|-b list|-b s|-b se|-b tpcb-like@3|-b select-only@x|-b se@-1|-b se@99999999999|-b @1|-b se@|-b se@0
-f nofile|-f script.sql|-f script.sql@|-f script.sql@0|-f script.sql@2 -S|-f script.sql@0 -S|-f script.sql@1x
-R 0|-R -1|-R 1ms|-R abc|-R 1e3|-R 0x10|-R .5|-L 0|-L 5|-L abc|-L 1.5
--sampling-rate=0.1|--sampling-rate=2 -l|--sampling-rate=0 -l|--sampling-rate=1 -l|-l|-l --log-prefix=x|--log-prefix=x
-l --aggregate-interval=3 -T 10|-l --aggregate-interval=5 -T 10|-l --aggregate-interval=20 -T 10|--aggregate-interval=5
-l --aggregate-interval=5 -t 3|-l --sampling-rate=0.1 --aggregate-interval=2 -T 4|-l --aggregate-interval=0
-M foo|-M simple|-M extended|-M prepared|-M p|--protocol=prepared|-M prepared -f script.sql|-f script.sql -M prepared
-D x|-D a=|-D =3|-D a=1|-D a=b=c|-D 1a=2|-D a-b=2|-D _a=1
--random-seed=foo|--random-seed=5|--random-seed=+5|--random-seed=-1|--random-seed=time|--random-seed=rand
--random-seed=18446744073709551616|--max-tries=-1|--max-tries=0|--max-tries=0 -T 3|--max-tries=0 -L 3
--max-tries=abc -T 3|--max-tries=3|a b|a|-d a b|-d a|-- -S|-|-c 1 -- db|a -c x|a -c 2|--nope|-Z|--host
--p=3|--pr=3|--port=1|--sam=0.1 -l|--cl=2|--c=2|--conn|--fa|--fi=script.sql|--select|--skip|--rep|--report-lat
--progress-timestamp|--progress-timestamp -P 1|--failures-detailed|--verbose-errors|--exit-on-abort|--show-script=se
--show-script=list|--show-script=s|-v|-n|-nv|-vn|-Sn|-Srn|-rSc3|-Sc|-SZ|-N -S|-NS|-C -S|-CS|-nSc 3|-d host=/x
"""
ROWS = [row.split(" ") for line in COMMAND_LINES.strip().splitlines() for row in line.split("|")]


@pytest.mark.parametrize("words", ROWS, ids=" ".join)
def test_what_pgbench_accepts_is_accepted_and_nothing_else(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.sql").write_text("select 1;\n", encoding="utf-8")
    if words == ["--report-lat"]:
        return  # the name of versions before 14, which we keep
    assert taken(words) == accepts(*words)


@pytest.mark.parametrize("words", [["-I", "", "-i"], ["-b", ""], ["-D", "a b=1"], ["-I", "d t", "-i"], ["-s", " 5 "]])
def test_words_with_spaces(words: list[str]) -> None:
    assert taken(words) == accepts(*words)


@pytest.mark.parametrize("seed", ["foo", "4", "time", "", "5 "])
def test_the_environment_may_give_the_seed(seed: str) -> None:
    assert accepts("-S", PGBENCH_RANDOM_SEED=seed) == (seed in ("4", "time"))
    if seed == "4":
        assert bench("-S", PGBENCH_RANDOM_SEED=seed).seed == 4
        assert bench("-S", "--random-seed=9", PGBENCH_RANDOM_SEED=seed).seed == 9
    elif seed != "time":
        with pytest.raises(UsageError, match="PGBENCH_RANDOM_SEED"):
            bench("-S", PGBENCH_RANDOM_SEED=seed)


def test_every_option_of_pgbench_is_in_our_help() -> None:
    ours = help_text()
    names = [word.strip(",").split("=")[0] for word in pgbench("--help").stdout.split() if word.startswith("--")]
    assert len(names) > 40
    assert not [name for name in names if name not in ours]


def test_order_and_weights() -> None:
    scripts = bench("-S@3", "-b", "simple@2", "-N", "-b", "tpcb-like").scripts
    assert [chosen.builtin for chosen in scripts] == ["select-only", "simple-update", "simple-update", "tpcb-like"]
    assert [chosen.script.weight for chosen in scripts] == [3, 2, 1, 1]


def test_defaults_are_those_of_pgbench() -> None:
    asked = bench()
    assert (asked.clients, asked.threads, asked.transactions, asked.duration_s) == (1, 1, 10, None)
    assert [chosen.script.name for chosen in asked.scripts] == ["<builtin: TPC-B (sort of)>"]
    assert asked.protocol is Protocol.SIMPLE
    assert asked.max_tries == 1
    assert asked.vacuum
    assert init() == InitRequest()
    assert init().tables == PgbenchTables(steps="dtgvp", scale=1, fillfactor=100)


def test_values_reach_the_request() -> None:
    asked = bench("-c8", "-j", "16", "-T5", "-Mprepared", "-R100.5", "-L2.5", "-Da=1", "-D", "b=x=y", "-P2", "-d", "db")
    assert (asked.clients, asked.threads, asked.duration_s, asked.transactions) == (8, 8, 5, None)
    assert (asked.rate_tps, asked.latency_limit_ms, asked.progress_s) == (100.5, 2.5, 2)
    assert asked.variables == {"a": "1", "b": "x=y"}
    assert asked.address.dbname == "db"


def test_steps_of_initialization() -> None:
    assert init("-n").tables.steps == "dtgp"
    assert init("--foreign-keys").tables.steps == "dtgvpf"
    assert init("-I", "f d", "--foreign-keys").tables.steps == "fd"


def test_lab_takes_a_version_only_where_it_is_one() -> None:
    assert bench("--lab", "17", "-S").lab.version == "17"  # type: ignore[union-attr]
    assert bench("--lab", "-S").lab.version is None  # type: ignore[union-attr]
    assert bench("--lab=13.3").lab.version == "13.3"  # type: ignore[union-attr]
    assert bench("--lab", "--set", "work_mem=1MB").lab.settings == {"work_mem": "1MB"}  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="--lab starts a server"):
        bench("--lab", "mydb")
    with pytest.raises(UsageError, match="--set needs --lab"):
        bench("--set", "work_mem=1MB")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-if", "p99"], "is not a valid threshold"),
        (["--fail-if", "p99>5"], "needs a unit"),
        (["--fail-if", "tsp>5"], "unknown metric 'tsp'"),
        (["--find-rate", "p99>5ms"], "is not a limit that a higher rate can exceed"),
        (["--find-rate", "p99<5ms", "-t", "3"], "give -T"),
        (["--find-rate", "p99<5ms", "-R", "3"], "omit -R"),
        (["--find-rate", "p99<5ms", "--until-stable"], "mutually exclusive"),
        (["--percentiles", "50,101"], "is not a percentile"),
        (["--seconds", "x.csv"], "unknown form of --seconds"),
        (["--warm-up", "soon"], "is not a valid duration"),
        (["-i", "--json"], "cannot be used in initialization"),
    ],
)
def test_our_own_options_refuse_what_makes_no_sense(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_command_line(words, {})


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as raised:
        read_command_line(["--clinet=3"], {})
    assert raised.value.hint == "did you mean --client?"


def test_our_own_options_never_change_what_an_abbreviation_means() -> None:
    theirs = [option for option in ALL_OPTIONS if not option.own]
    for option in theirs:
        for length in range(1, len(option.name)):
            word = option.name[:length]
            # The only one, and docs/guides/bench.md lists it.
            if word != "report":
                assert _meaning(word, theirs) in (None, _meaning(word, list(ALL_OPTIONS)))


def _meaning(prefix: str, options: list[Option]) -> str | None:
    from pgclinic.bench.getopt_long import find_long

    try:
        return find_long(prefix, options).name
    except UsageError:
        return None


def test_the_builtin_scripts_are_those_of_pgbench() -> None:
    for builtin in builtin_scripts():
        shown = pgbench(f"--show-script={builtin.name}").stderr
        assert script_text(builtin).rstrip() == shown.rstrip()
    assert list_text().split() == pgbench("-b", "list").stderr.split()


def test_help_and_lists_are_shown() -> None:
    assert isinstance(read_command_line(["--help"], {}).asked, Show)
    assert isinstance(read_command_line(["-?"], {}).asked, Show)
    assert isinstance(read_command_line(["-b", "list"], dict(os.environ)).asked, Show)
