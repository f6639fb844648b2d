"""``channel_binding=require`` against a real server: only SCRAM bound to its certificate is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fixtures.encrypted import Encrypted, encrypted_server
from pgclinic.lab.account import own, server_account
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadResult, LoadSpec, Script, Target
from pgclinic.model.tls import ChannelBinding, TlsMode, TlsSpec

PASSWORD = "secretword"
HBA = """\
local all all trust
hostssl all bound all scram-sha-256
hostssl all digest all md5
hostssl all clear all password
hostssl all trusted all trust
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    with encrypted_server(tmp_path_factory.mktemp("certificate")) as made:
        made.execute(f"create role bound login password '{PASSWORD}'")
        made.execute(f"create role clear login password '{PASSWORD}'", "create role trusted login")
        made.execute(f"set password_encryption = md5; create role digest login password '{PASSWORD}'")
        file = Path(made.running.server.data_dir or "") / "pg_hba.conf"
        file.write_text(HBA)
        own(file, server_account())
        made.execute("select pg_reload_conf()")
        yield made


def load(server: Encrypted, user: str, mode: TlsMode, binding: ChannelBinding) -> LoadResult:
    target = Target(
        host="127.0.0.1",
        port=server.port,
        user=user,
        database="postgres",
        password=PASSWORD,
        tls=TlsSpec(mode=mode, channel_binding=binding),
    )
    script = Script(name="one", text="select 1;")
    return run_load(
        LoadSpec(target=target, scripts=(script,), clients=2, transactions_per_client=3, connect_timeout_s=30.0)
    )


@pytest.mark.parametrize("user", ["bound", "digest", "clear", "trusted"])
def test_what_psql_refuses_is_refused(server: Encrypted, user: str) -> None:
    words = f"host=127.0.0.1 port={server.port} user={user} dbname=postgres password={PASSWORD} sslmode=require"
    result = load(server, user, TlsMode.REQUIRE, ChannelBinding.REQUIRE)
    if user == "bound":
        psycopg.connect(f"{words} channel_binding=require").close()
        assert (result.transactions, result.clients_lost) == (6, 0), result.failures
        return
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        psycopg.connect(f"{words} channel_binding=require")
    assert (result.transactions, result.clients_lost) == (0, 2)
    assert "channel binding is required" in result.failures[0].message
    # Without the requirement, the same user gets in.
    assert load(server, user, TlsMode.REQUIRE, ChannelBinding.PREFER).transactions == 6


def test_a_connection_without_tls_cannot_be_bound(server: Encrypted) -> None:
    result = load(server, "bound", TlsMode.DISABLE, ChannelBinding.REQUIRE)
    assert (result.transactions, result.clients_lost) == (0, 2)
