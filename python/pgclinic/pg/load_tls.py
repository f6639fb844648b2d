"""libpq's TLS keywords -> the engine's TlsSpec, with libpq's defaults. Reads nothing but whether files are there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pgclinic.errors import UsageError
from pgclinic.model.tls import ChannelBinding, Negotiation, TlsMode, TlsSpec

#: Keywords whose effect the engine's own sessions could not have.
_REFUSED = ("sslcrldir", "sslpassword")
_PROTOCOLS = {"TLSv1.2", "TLSv1.3"}


def tls_of(
    keywords: Mapping[str, str], secrets: Mapping[str, str] = MappingProxyType({}), *, host: str, user_folder: Path
) -> TlsSpec:
    """How libpq encrypted the session it opened with ``keywords`` and ``secrets``.

    ``host`` is the name to verify; ``user_folder`` is where libpq looks for files that no keyword names, usually
    ``~/.postgresql``. Raises UsageError naming the keyword that the engine does not have.
    """
    for name in _REFUSED:
        if keywords.get(name) or secrets.get(name):
            raise UsageError(f"{name} is not supported by the load engine")
    wants_client_cert = keywords.get("sslcertmode", "allow") != "disable"
    return TlsSpec(
        mode=TlsMode(keywords.get("sslmode", "prefer")),
        root_cert=_file(keywords.get("sslrootcert"), user_folder / "root.crt"),
        cert=_file(keywords.get("sslcert"), user_folder / "postgresql.crt") if wants_client_cert else None,
        key=_file(keywords.get("sslkey"), user_folder / "postgresql.key") if wants_client_cert else None,
        crl=_file(keywords.get("sslcrl"), user_folder / "root.crl"),
        negotiation=Negotiation(keywords.get("sslnegotiation", "postgres")),
        sni=keywords.get("sslsni", "1") != "0",
        min_protocol=_protocol(keywords.get("ssl_min_protocol_version"), lowest=True),
        max_protocol=_protocol(keywords.get("ssl_max_protocol_version"), lowest=False),
        server_name=host,
        channel_binding=ChannelBinding(keywords.get("channel_binding", "prefer")),
    )


def _file(named: str | None, default: Path) -> str | None:
    if named:
        return named
    return str(default) if default.is_file() else None


def _protocol(named: str | None, *, lowest: bool) -> str | None:
    """An older lower bound allows what the engine speaks; an older upper bound forbids it."""
    if not named or named in _PROTOCOLS:
        return named or None
    if lowest:
        return None
    raise UsageError(f"ssl_max_protocol_version={named}: the load engine speaks TLSv1.2 and TLSv1.3")
