"""How many files may be open: the limit is raised as far as it may be; what does not fit is refused with what does."""

from __future__ import annotations

import re

import pytest

from fixtures.lab_home import python

SCRIPT = """
    import resource, sys
    from pgclinic.errors import UsageError
    from pgclinic.load.open_files import allow_clients
    soft, hard, clients = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        allow_clients(clients, 2)
    except UsageError as error:
        print(error.message, error.hint, sep="|")
    else:
        print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def allowed(soft: int, hard: int, clients: int) -> str:
    process = python(SCRIPT, arguments=[str(soft), str(hard), str(clients)])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def test_enough_is_left_alone() -> None:
    assert allowed(500, 1000, 100) == "500"


def test_the_soft_limit_is_raised_to_what_is_needed() -> None:
    assert 130 <= int(allowed(64, 1000, 100)) <= 160


def test_a_hard_limit_is_named_with_the_clients_that_fit() -> None:
    said = re.fullmatch(
        r"100 clients need (\d+) open files, and ulimit -n allows 64"
        r"\|raise the limit \(ulimit -n (\d+)\), or use fewer clients \(-c (\d+)\)",
        allowed(64, 64, 100),
    )
    assert said is not None
    assert said[1] == said[2]
    # So many fit indeed.
    assert allowed(64, 64, int(said[3])) == "64"
    assert "need" in allowed(64, 64, int(said[3]) + 3)


@pytest.mark.parametrize("limit", [32, 24])
def test_where_no_client_fits_no_number_is_named(limit: int) -> None:
    assert "use fewer clients" not in allowed(limit, limit, 100)
