"""Listening on an address until Ctrl-C: who may be listened to, and how."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from pgclinic.errors import UsageError
from pgclinic.serve.app import pages
from pgclinic.serve.request_guard import RequestGuard

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TOKEN_LETTERS_MIN = 16


@dataclass(frozen=True)
class ListenAddress:
    """Where to listen; port 0 is any free one. ``names`` are further ones by which browsers reach it."""

    host: str
    port: int
    token_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether no other machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def serve(parent: Path, address: ListenAddress, on_listening: Callable[[str], None]) -> None:
    """Serve the runs below ``parent`` until a signal comes; ``on_listening`` gets the address to open.

    Raises UsageError: the address may not be served, or cannot be.
    """
    if not parent.is_dir():
        raise UsageError(f"there is no directory {parent}", hint="name one that has run folders: --runs DIR")
    token = _checked_token(address)
    with _listener(address) as listener:
        port = listener.getsockname()[1]
        app = RequestGuard(
            pages(parent, lambda: server.should_exit),
            (*_LOOPBACK, address.host, socket.gethostname(), *address.names),
            token,
        )
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            ssl_certfile=address.tls_cert,
            ssl_keyfile=address.tls_key,
        )
        server = uvicorn.Server(config)
        shown = f"[{address.host}]" if ":" in address.host else address.host
        on_listening(f"{'https' if address.tls_cert else 'http'}://{shown}:{port}/")
        server.run(sockets=[listener])


def _checked_token(address: ListenAddress) -> str | None:
    """The token, where one is asked for. Raises UsageError, also for an address that needs one and has none."""
    token = _read_token(address.token_file) if address.token_file is not None else None
    if address.tls_cert is not None:
        _check_certificate(address.tls_cert, address.tls_key)
    elif address.tls_key is not None:
        raise UsageError("--tls-key needs --tls-cert")
    if not address.is_loopback and (token is None or address.tls_cert is None):
        raise UsageError(
            f"--host {address.host} can be reached from other machines: it needs a token and TLS",
            hint="--token-file FILE --tls-cert FILE --tls-key FILE, or forward a port: ssh -L 8432:localhost:8432 HOST",
        )
    return token


def _read_token(file: Path) -> str:
    try:
        token, mode = file.read_text(encoding="utf-8").strip(), file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {file} cannot be read: {error}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"--token-file {file} can be read by others", hint=f"chmod 600 {file}")
    if len(token) < _TOKEN_LETTERS_MIN:
        raise UsageError(
            f"the token in {file} has less than {_TOKEN_LETTERS_MIN} characters",
            hint=f"write a new one: umask 077; openssl rand -hex 24 > {file}",
        )
    return token


def _check_certificate(cert: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--tls-cert {cert} cannot be used: {error}") from error


def _listener(address: ListenAddress) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        return socket.create_server((str(place[0]), address.port), family=family)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"cannot listen on {address.host}, port {address.port}: {error}", hint="--port 0 takes any free port"
        ) from error
