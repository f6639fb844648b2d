"""Services are known by their names; nothing else of their files is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.pg.service_file import named_service, service_names

FILE = """
# [comment]
[shop]
host=localhost
password=s3cret

 [shop-replica]
  port = 5433
[bad name]
[shop]
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "services").write_text(FILE, encoding="utf-8")
    (tmp_path / "pg_service.conf").write_text("[of_the_system]\n", encoding="utf-8")
    return {"PGSERVICEFILE": str(tmp_path / "services"), "PGSYSCONFDIR": str(tmp_path), "HOME": str(tmp_path)}


def test_names_of_all_files_each_once(environment: dict[str, str]) -> None:
    assert service_names(environment) == ("shop", "shop-replica", "of_the_system")


def test_a_home_without_a_file_has_none(tmp_path: Path) -> None:
    assert service_names({"HOME": str(tmp_path)}) == ()
    with pytest.raises(UsageError, match="no service file names any") as refused:
        named_service("shop", {"HOME": str(tmp_path)})
    assert refused.value.hint is not None and "PGSERVICEFILE" in refused.value.hint


def test_the_connection_string_of_a_service_is_its_name(environment: dict[str, str]) -> None:
    assert named_service("shop", environment) == "service=shop"


def test_the_nearest_name_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError) as refused:
        named_service("shop_replica", environment)
    assert refused.value.nearest == "shop-replica"


@pytest.mark.parametrize("name", ["postgresql://u:p@h/d", "host=h password=p", "../shop", "shop' x='", "a;b", "", "-x"])
def test_what_is_no_name_is_refused_without_being_repeated(environment: dict[str, str], name: str) -> None:
    with pytest.raises(UsageError) as refused:
        named_service(name, environment)
    assert not name or name not in f"{refused.value.message} {refused.value.hint}"


def test_a_file_of_any_size_is_not_read(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "services").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        service_names(environment)
