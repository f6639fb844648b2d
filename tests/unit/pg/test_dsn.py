"""Connection strings lose their secrets wherever they are shown or stored."""

from __future__ import annotations

import pytest

from pgclinic.errors import UsageError
from pgclinic.model.server import Server
from pgclinic.pg.dsn import dsn_of, parse_dsn, split_secrets, without_password


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://app:s3cret@db.example:5433/shop?sslmode=require",
        "host=db.example port=5433 user=app dbname=shop password=s3cret sslmode=require",
        "postgres://app@db.example:5433/shop?password=s3cret&sslmode=require",
        r"host=db.example port=5433 user=app dbname=shop sslmode=require password='s3cret'",
        "host=db.example port=5433 user=app dbname=shop sslmode=require password=s3cret sslpassword=s3cret",
    ],
)
def test_a_password_is_dropped_and_the_rest_kept(dsn: str) -> None:
    shown = without_password(dsn)
    assert "s3cret" not in shown
    assert parse_dsn(shown) == {
        "host": "db.example",
        "port": "5433",
        "user": "app",
        "dbname": "shop",
        "sslmode": "require",
    }


@pytest.mark.parametrize(
    "dsn", ["host=db password=s3cret s3cret", "nonsense s3cret", "postgresql://app:s3cret@db:port x"]
)
def test_a_broken_string_is_refused_without_being_quoted(dsn: str) -> None:
    with pytest.raises(UsageError) as caught:
        without_password(dsn)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


def test_secrets_are_set_apart() -> None:
    assert split_secrets({"host": "db", "password": "x"}) == ({"host": "db"}, {"password": "x"})


def test_a_server_becomes_keywords() -> None:
    server = Server(
        name="x",
        source="attached",
        version="18.6",
        version_num=180006,
        host="/tmp/a b",
        port=5432,
        user="o'hara",
        database="shop",
        parameters={"sslmode": "disable"},
    )
    assert parse_dsn(dsn_of(server)) == {
        "host": "/tmp/a b",
        "port": "5432",
        "user": "o'hara",
        "dbname": "shop",
        "sslmode": "disable",
    }
