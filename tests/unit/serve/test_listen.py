"""An address that others can reach: pages over TLS, for those who have the token."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.certificate import Certificate, self_signed
from fixtures.kept_runs import kept_study
from fixtures.served import Served, served
from pgclinic.serve.listen import ListenAddress

TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, certificate: Certificate) -> Iterator[Served]:
    """All interfaces are listened on; the test calls one of them by the name in the certificate."""
    runs = tmp_path_factory.mktemp("runs")
    kept_study(runs)
    token = runs / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    words = ("--host", "0.0.0.0", "--token-file", str(token), "--tls-cert", str(certificate.cert))
    with served(runs, *words, "--tls-key", str(certificate.key)) as found:
        assert found.address.startswith("https://0.0.0.0:")
        trust = ssl.create_default_context(cafile=certificate.cert)
        yield replace(found, address=f"https://127.0.0.1:{port_of(found)}", trust=trust)


def port_of(site: Served) -> int:
    port = urllib.parse.urlsplit(site.address).port
    assert port is not None
    return port


LOOPBACK = ("127.0.0.1", "127.8.8.8", "::1", "localhost")
REACHED = ("0.0.0.0", "::", "192.0.2.7", "bench.example.org", "127.0.0.1.example.org")


@pytest.mark.parametrize("host", [*LOOPBACK, *REACHED])
def test_which_addresses_other_machines_reach(host: str) -> None:
    assert ListenAddress(host, 0).is_loopback is (host in LOOPBACK)


def test_the_token_opens_a_page_over_tls_and_nothing_else_does(site: Served) -> None:
    status, page = site.get("/runs/a-study", Authorization=f"Bearer {TOKEN}")
    assert (status, "held xmin horizon" in page) == (200, True)
    for headers in ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Cookie": f"pgclinic={TOKEN}"}):
        status, page = site.get("/runs/a-study", **headers)
        assert (status, "xmin" in page) == (401, False)
    assert site.get("/token", method="POST", body=b"token=wrong")[0] == 403


def test_a_foreign_name_and_a_page_of_http_are_refused_over_tls(site: Served) -> None:
    allowed = {"Authorization": f"Bearer {TOKEN}"}
    assert site.get("/", Host="evil.example", **allowed)[0] == 403
    assert site.get("/", Origin=f"http://127.0.0.1:{port_of(site)}", **allowed)[0] == 403
    assert site.get("/", Origin=site.address, **allowed)[0] == 200


def test_the_cookie_goes_over_tls_alone(site: Served) -> None:
    connection = http.client.HTTPSConnection("127.0.0.1", port_of(site), context=site.trust, timeout=30)
    connection.request("POST", "/token", body=f"token={TOKEN}")
    answer = connection.getresponse()
    answer.read()
    cookie = answer.getheader("Set-Cookie") or ""
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert answer.status == 303
    assert {"secure", "httponly", "samesite=strict"} <= attributes
    assert TOKEN not in cookie
    connection.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]})
    assert connection.getresponse().status == 200
    connection.close()


def test_http_without_tls_gets_no_answer(site: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(site), timeout=30)
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.request("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})
        connection.getresponse()
    connection.close()
    # It has not taken the server down.
    assert site.get("/", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_a_certificate_that_nobody_vouches_for_is_not_believed(site: Served, tmp_path: Path) -> None:
    other = ssl.create_default_context(cafile=self_signed(tmp_path).cert)
    with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
        replace(site, trust=other).get("/")
