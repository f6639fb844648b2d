"""A name in SQL of ours means one thing, whoever owns the database: it is PostgreSQL's own, or it has its schema."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fixtures.tree import PACKAGE_FILES, ROOT, SQL_FILES

#: Whose sessions have the user's search_path, because they run SQL that the user wrote or asked for.
USERS_SQL = {
    "bench/lab_server.py": "a load on a server of the lab",
    "tune/grow/measure.py": "the statements of a twin, on the twin",
    "whatif/migration_locks.py": "the statements of a migration, on the twin",
    "whatif/trial_session.py": "the statements of a twin, on the twin",
    "experiment/twin_check.py": "the statements of a twin, on the twin",
    "load/pgbench_tables.py": "pgbench's tables, where the user's scripts find them",
    "load/tpcc_consistency.py": "TPC-C's tables, where the load finds them",
    "load/tpcc_fill.py": "TPC-C's tables, where the load finds them",
    "load/tpcc_state.py": "TPC-C's tables, where the load finds them",
    "observe/custom_metrics.py": "the metrics of a study",
    "observe/probe.py": "the probe of a study",
    "tune/upgrade/executions.py": "the statements of a twin, on the twin",
    "tune/upgrade/preflight.py": "the statements of a twin, which are parsed on the twin",
    "trial/script_check.py": "the user's scripts, which are parsed",
    "trial/server.py": "the statements that fill a study's database",
    "trial/timed.py": "the steps of a study",
    "twin/build.py": "the statements of a twin, on the twin",
}
#: Queries that find the user's tables by his search_path; in these every other name has its schema.
FOR_USERS_NAMES = ("bench_partitions", "pgbench_scale", "relation_oid", "tpcc_marks")
#: Who may say what search_path is.
SETS_IT = (
    *(
        "pg/connect.py",
        "pg/session.py",
        "twin/build.py",
        "twin/author.py",
        "experiment/twin_check.py",
        "capture/plans.py",
    ),
    # Written for the user to run, on a server that may be somebody else's.
    "report/exports/treatment.py",
)
EXTENSION_NAMES = re.compile(
    r'(?<!\.)(?<!")\b(?:pg_stat_statements(?:_info)?\b(?=\(|\s|$)|get_raw_page|heap_page_items|bt_page_\w+|pgstattuple_approx'
    r"|pg_visibility_map_summary)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"--[^\n]*")
_QUOTED = re.compile(r"'[^']*'")


def inside(path: Path) -> str:
    """Where in the package a file is, whatever the folder of the repository is called."""
    return path.relative_to(ROOT / "python/pgclinic").as_posix()


def texts(name: str) -> list[str]:
    return [
        _COMMENT.sub("", path.read_text(encoding="utf-8")) for path in SQL_FILES if path.name.startswith(f"{name}.")
    ]


def test_sessions_with_the_users_search_path_are_known() -> None:
    asking = {
        inside(path) for path in PACKAGE_FILES if re.search(r"users_search_path=True", path.read_text(encoding="utf-8"))
    }
    assert asking == set(USERS_SQL)


def test_nobody_else_changes_search_path() -> None:
    setting = re.compile(r"set (?:local )?search_path|reset search_path|set_config\('search_path'", re.IGNORECASE)
    changing = {
        inside(path) for path in (*PACKAGE_FILES, *SQL_FILES) if setting.search(path.read_text(encoding="utf-8"))
    }
    assert changing <= set(SETS_IT)


def test_queries_beside_the_users_sql_are_of_the_catalog_or_name_every_schema() -> None:
    """There a query runs inside ``catalog_only``, has the schema of its tables as a variable, or is qualified."""
    wrong = []
    for path in PACKAGE_FILES:
        reason = USERS_SQL.get(inside(path))
        if reason is None or reason.endswith("on the twin"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        safe = {
            id(call)
            for block in ast.walk(tree)
            if isinstance(block, ast.With)
            and any("catalog_only" in ast.unparse(item.context_expr) for item in block.items)
            for call in ast.walk(block)
        }
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "query"):
                continue
            name = call.args[0].value if isinstance(call.args[0], ast.Constant) else ""
            named = all(':"' in text for text in texts(str(name)))
            creates = name == "tpcc_create"
            if id(call) not in safe and name not in FOR_USERS_NAMES and not named and not creates:
                wrong.append(f"{path.name}: {name}")
    assert wrong == []


@pytest.mark.parametrize("name", FOR_USERS_NAMES)
def test_a_query_for_the_users_names_has_the_schema_of_every_other_name(name: str) -> None:
    found = texts(name)
    assert found
    for text in found:
        plain = _QUOTED.sub("''", re.sub(r"%\(\w+\)s", "''", text))
        calls = re.findall(r"(?<!pg_catalog\.)(?<![\w.])([a-z_]\w*)\s*\(", plain)
        assert set(calls) <= {"operator", "select", "t", "in"}, calls
        without = re.sub(r"operator\(pg_catalog\.\S+\)", "", plain)
        assert not re.search(r"[=<>+/|~!@#%^&]|(?<!-)-(?!-)|\*(?!\))", without), without
        assert not re.search(r"::(?!pg_catalog\.)", without), without


def test_objects_of_extensions_have_their_schema() -> None:
    bare = [
        f"{path.name}: {match[0]}"
        for path in SQL_FILES
        for match in EXTENSION_NAMES.finditer(_QUOTED.sub("''", _COMMENT.sub("", path.read_text(encoding="utf-8"))))
    ]
    assert bare == []
