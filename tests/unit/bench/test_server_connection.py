"""How a server is named, as pgbench and libpq have it, and what the engine's sessions could not honour."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from pgclinic.bench.server_connection import connect_timeout_s
from pgclinic.errors import UsageError
from pgclinic.model.tls import ChannelBinding, TlsMode, TlsSpec
from pgclinic.pg.libpq import Reached, is_connection_string, libpq_keywords
from pgclinic.pg.load_target import target_of
from pgclinic.pg.load_tls import tls_of
from pgclinic.pg.reach import access_of

ACCOUNT = pwd.getpwuid(os.geteuid()).pw_name


def keywords(environment: dict[str, str] | None = None, **named: str | None) -> dict[str, str]:
    given: dict[str, Any] = {"dbname": None, "host": None, "port": None, "user": None, **named}
    return libpq_keywords(**given, environment=environment or {})


def test_the_database_defaults_as_in_pgbench_never_to_what_u_says() -> None:
    assert keywords() == {"dbname": ACCOUNT}
    assert keywords(user="other") == {"user": "other", "dbname": ACCOUNT}
    assert keywords({"PGUSER": "me"}) == {"dbname": "me"}
    assert keywords({"PGUSER": "me", "PGDATABASE": "db"}) == {"dbname": "db"}
    assert keywords({"PGDATABASE": "db"}, dbname="shop") == {"dbname": "shop"}


def test_a_connection_string_wins_over_options() -> None:
    found = keywords(dbname="host=h user=u dbname=d", host="x", port="5", user="y")
    assert found == {"host": "h", "port": "5", "user": "u", "dbname": "d"}
    assert keywords(dbname="postgresql://u@h:7/d?application_name=a")["application_name"] == "a"
    assert not is_connection_string("shop")


def test_our_own_sessions_go_where_libpq_went_and_hide_the_password() -> None:
    reached = place(
        secrets={"password": "geheim"},
        keywords={"sslmode": "verify-full", "host": "a,b", "port": "1,2", "dbname": "x", "connect_timeout": "3"},
    )
    access = access_of(reached)
    assert (access.server.host, access.server.port, access.server.database) == ("db.example", 5432, "d")
    # The name stays for the certificate, the address is the one of several that answered.
    assert access.server.parameters == {"sslmode": "verify-full", "hostaddr": "192.0.2.7"}
    assert access.secrets == {"password": "geheim"}
    assert "geheim" not in repr(access)
    assert access_of(place(host="/tmp", address="")).server.parameters == {}


def test_a_bad_connection_string_never_shows_its_password() -> None:
    with pytest.raises(UsageError, match='invalid connection option "hots"'):
        keywords(dbname="hots=x password=geheim")
    for text in ("host=h password='geheim", "postgresql://u:ge%heim@h:x:y/db", "password=geheim =="):
        with pytest.raises(UsageError) as raised:
            keywords(dbname=text)
        assert "heim" not in raised.value.message


def place(**changes: Any) -> Reached:
    values: dict[str, Any] = {
        "host": "db.example",
        "address": "192.0.2.7",
        "port": 5432,
        "user": "u",
        "database": "d",
        "options": "",
        "encrypted_by": "",
        "version_num": 180006,
        "keywords": {},
        **changes,
    }
    return Reached(**values)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encrypted_by": "GSSAPI"}, "GSSAPI"),
        ({"host": "@abstract"}, "abstract"),
        ({"keywords": {"load_balance_hosts": "random"}}, "load_balance_hosts"),
        ({"keywords": {"require_auth": "scram-sha-256"}}, "require_auth"),
    ],
)
def test_what_the_engine_cannot_honour_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        target_of(access_of(place(**changes)))


def test_the_engine_goes_where_libpq_went() -> None:
    target = target_of(access_of(place(options="-c work_mem=1MB", secrets={"password": "geheim"})))
    assert (target.host, target.port, target.options, target.password) == (
        "192.0.2.7",
        5432,
        "-c work_mem=1MB",
        "geheim",
    )
    assert target_of(access_of(place(host="/tmp", address=""))).host == "/tmp"
    assert "geheim" not in repr(place(secrets={"password": "geheim"}))


def test_the_connect_timeout_is_libpqs() -> None:
    assert connect_timeout_s(place(keywords={"connect_timeout": "7"})) == 7
    assert connect_timeout_s(place(keywords={"connect_timeout": "1"})) == 2
    assert connect_timeout_s(place()) == 30


def test_tls_is_repeated_as_libpq_did_it(tmp_path: Path) -> None:
    (tmp_path / "root.crt").touch()
    found = tls_of(
        {
            "sslmode": "verify-full",
            "sslcert": "/c.crt",
            "sslkey": "/c.key",
            "sslsni": "0",
            "channel_binding": "require",
        },
        host="db.example",
        user_folder=tmp_path,
    )
    assert found == TlsSpec(
        mode=TlsMode.VERIFY_FULL,
        root_cert=str(tmp_path / "root.crt"),
        cert="/c.crt",
        key="/c.key",
        sni=False,
        server_name="db.example",
        channel_binding=ChannelBinding.REQUIRE,
    )
    assert tls_of({"sslcertmode": "disable"}, host="h", user_folder=tmp_path).cert is None
    assert tls_of({"ssl_min_protocol_version": "TLSv1"}, host="h", user_folder=tmp_path).min_protocol is None


@pytest.mark.parametrize("keyword", ["sslcrldir", "sslpassword"])
def test_tls_that_the_engine_cannot_repeat_is_refused_by_name(keyword: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=keyword):
        tls_of({keyword: "x"}, host="h", user_folder=tmp_path)
    with pytest.raises(UsageError, match="ssl_max_protocol_version"):
        tls_of({"ssl_max_protocol_version": "TLSv1.1"}, host="h", user_folder=tmp_path)


def test_without_tls_at_the_door_there_is_none_inside() -> None:
    assert target_of(access_of(place())).tls is None
    tls = target_of(access_of(place(encrypted_by="TLS", keywords={"sslmode": "require"}))).tls
    assert tls is not None and tls.server_name == "db.example"
