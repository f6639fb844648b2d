"""``pgclinic bench`` over TLS, on a real server with a certificate of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for, cli
from pgclinic.lab.account import own, server_account
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session

SEEN = """\
select ssl::int as ssl from pg_stat_ssl where pid = pg_backend_pid() \\gset
insert into seen values (:ssl);
"""


@dataclass(frozen=True)
class Encrypted:
    running: RunningServer
    certificate: Path
    port: int
    password: str

    def bench(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        where = {"PGHOST": "localhost", "PGPORT": str(self.port), "PGUSER": self.running.server.user}
        return cli("bench", *words, **where, PGDATABASE="postgres", PGPASSWORD=self.password, **environment)

    def sessions(self) -> list[int]:
        """1 for every transaction that came over TLS, 0 for every one that did not; then forgotten."""
        with Session(Access(self.running.server), statement_timeout_ms=5000, application_name="test") as session:
            found = [int(ssl) for (ssl,) in session.rows("select ssl from seen")]
            session.execute("truncate seen")
        return found


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    # The embedded wheel is built without OpenSSL; the releases from Maven have it.
    folder = tmp_path_factory.mktemp("certificate")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    paths = ["-keyout", str(folder / "server.key"), "-out", str(folder / "server.crt")]
    subprocess.run([*request, "-addext", names, *paths], check=True, capture_output=True, timeout=60)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with start_server(binaries_for("17"), settings={}, port=port) as running:
        assert running.server.data_dir is not None
        for name in ("server.key", "server.crt"):
            target = Path(running.server.data_dir) / name
            shutil.copy(folder / name, target)
            target.chmod(0o600)
            own(target, server_account())
        with Session(Access(running.server), statement_timeout_ms=5000, application_name="test") as session:
            session.execute("create table seen (ssl int)")
            session.execute("alter system set ssl = on")
            session.execute("select pg_reload_conf()")
        password = (Path(running.instance.directory) / "pgpass").read_text().strip().rpartition(":")[2]
        yield Encrypted(running, folder / "server.crt", port, password)


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_every_session_is_encrypted(encrypted: Encrypted, tmp_path: Path, mode: str) -> None:
    script = tmp_path / "seen.sql"
    script.write_text(SEEN)
    root = {"PGSSLROOTCERT": str(encrypted.certificate)} if mode.startswith("verify") else {}
    done = encrypted.bench("-n", "-f", str(script), "-t", "3", "-c", "2", PGSSLMODE=mode, **root)
    assert done.returncode == 0, done.stderr
    assert encrypted.sessions() == [1] * 6


def test_without_tls_there_is_none(encrypted: Encrypted, tmp_path: Path) -> None:
    script = tmp_path / "seen.sql"
    script.write_text(SEEN)
    assert encrypted.bench("-n", "-f", str(script), "-t", "2", PGSSLMODE="disable").returncode == 0
    assert encrypted.sessions() == [0, 0]


def test_a_certificate_that_nobody_vouches_for_is_refused(encrypted: Encrypted, tmp_path: Path) -> None:
    other = tmp_path / "other.crt"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other"]
    subprocess.run(
        [*request, "-keyout", str(tmp_path / "k"), "-out", str(other)], check=True, capture_output=True, timeout=60
    )
    done = encrypted.bench("-n", "-S", "-t", "2", PGSSLMODE="verify-full", PGSSLROOTCERT=str(other))
    assert done.returncode == 1
    assert "certificate" in done.stderr
    assert encrypted.password not in done.stderr + done.stdout
