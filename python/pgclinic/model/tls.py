"""TLS between the load engine and the server: the Python side of crates/load/src/spec/tls.rs."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class TlsMode(str, Enum):
    """How much TLS is asked for, as in libpq's ``sslmode``."""

    DISABLE = "disable"
    ALLOW = "allow"
    PREFER = "prefer"
    REQUIRE = "require"
    VERIFY_CA = "verify-ca"
    VERIFY_FULL = "verify-full"


class Negotiation(str, Enum):
    """Who begins with TLS, as in libpq's ``sslnegotiation``.

    ``direct`` needs PostgreSQL 17 and a mode that requires TLS.
    """

    POSTGRES = "postgres"
    DIRECT = "direct"


class ChannelBinding(str, Enum):
    """Whether SCRAM binds the password to the server's certificate."""

    DISABLE = "disable"
    PREFER = "prefer"
    REQUIRE = "require"


class TlsSpec(Record):
    """TLS to the server; sockets of the file system never have it. Files are PEM, and a key is not encrypted.

    ``root_cert`` is a file or ``system``; with it ``require`` verifies as ``verify-ca`` does. ``sni`` tells the server
    the name in clear. Protocols are ``TLSv1.2`` and ``TLSv1.3``. ``server_name`` is the name to verify, None is the
    target's host.
    """

    mode: TlsMode
    root_cert: str | None = None
    cert: str | None = None
    key: str | None = None
    crl: str | None = None
    negotiation: Negotiation = Negotiation.POSTGRES
    sni: bool = True
    min_protocol: str | None = None
    max_protocol: str | None = None
    server_name: str | None = None
    channel_binding: ChannelBinding = ChannelBinding.PREFER
