"""``pgclinic bench`` over TLS, on a real server with a certificate of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.encrypted import SEEN, Encrypted, encrypted_server
from fixtures.lab_home import cli


def bench(server: Encrypted, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    where = {"PGHOST": "localhost", "PGPORT": str(server.port), "PGUSER": server.user}
    return cli("bench", *words, **where, PGDATABASE="postgres", PGPASSWORD=server.password, **environment)


def sessions(server: Encrypted) -> list[int]:
    """1 for every transaction that came over TLS, 0 for every one that did not; then forgotten."""
    found = [ssl for (ssl,) in server.rows("select ssl from seen")]
    server.execute("truncate seen")
    return found


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    with encrypted_server(tmp_path_factory.mktemp("certificate")) as made:
        yield made


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_every_session_is_encrypted(encrypted: Encrypted, tmp_path: Path, mode: str) -> None:
    script = tmp_path / "seen.sql"
    script.write_text(SEEN)
    root = {"PGSSLROOTCERT": str(encrypted.certificate)} if mode.startswith("verify") else {}
    done = bench(encrypted, "-n", "-f", str(script), "-t", "3", "-c", "2", PGSSLMODE=mode, **root)
    assert done.returncode == 0, done.stderr
    assert sessions(encrypted) == [1] * 6


def test_without_tls_there_is_none(encrypted: Encrypted, tmp_path: Path) -> None:
    script = tmp_path / "seen.sql"
    script.write_text(SEEN)
    assert bench(encrypted, "-n", "-f", str(script), "-t", "2", PGSSLMODE="disable").returncode == 0
    assert sessions(encrypted) == [0, 0]


def test_a_certificate_that_nobody_vouches_for_is_refused(encrypted: Encrypted, tmp_path: Path) -> None:
    other = tmp_path / "other.crt"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other"]
    subprocess.run(
        [*request, "-keyout", str(tmp_path / "k"), "-out", str(other)], check=True, capture_output=True, timeout=60
    )
    done = bench(encrypted, "-n", "-S", "-t", "2", PGSSLMODE="verify-full", PGSSLROOTCERT=str(other))
    assert done.returncode == 1
    assert "certificate" in done.stderr
    assert encrypted.password not in done.stderr + done.stdout
