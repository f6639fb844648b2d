"""Where and how the load engine connects: what libpq reached, in the engine's words."""

from __future__ import annotations

from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.model.load import Target
from pgclinic.pg.load_tls import tls_of
from pgclinic.pg.session import Access


def _user_folder() -> Path:
    """Where libpq looks for certificates and keys that nobody names; a user without a home directory has none."""
    try:
        return Path("~/.postgresql").expanduser()
    except RuntimeError:
        return Path("/nonexistent/.postgresql")


USER_FOLDER = _user_folder()
LOAD_APPLICATION_NAME = "pgclinic-load"


def target_of(access: Access, *, application_name: str = LOAD_APPLICATION_NAME) -> Target:
    """The server for the engine's own sessions; its host is the IP address that libpq chose, where there is one.

    Raises UsageError naming the libpq option that these sessions could not honour.
    """
    server = access.server
    keywords = server.parameters
    _refuse_what_the_engine_cannot(access)
    return Target(
        host=keywords.get("hostaddr") or server.host,
        port=server.port,
        user=access.of_author.server.user,
        database=server.database,
        password=access.secrets.get("password"),
        application_name=application_name,
        options=access.startup_options or None,
        # A server that offered no TLS to libpq offers none to the engine.
        tls=tls_of(keywords, access.secrets, host=server.host, user_folder=USER_FOLDER)
        if access.encrypted_by == "TLS"
        else None,
    )


def _refuse_what_the_engine_cannot(access: Access) -> None:
    keywords = access.server.parameters
    if access.encrypted_by == "GSSAPI":
        raise UsageError(
            "the server was reached by GSSAPI encryption, which the load engine does not speak",
            hint="add gssencmode=disable if the server allows it",
        )
    if access.server.host.startswith("@"):
        raise UsageError("the load engine does not connect to abstract sockets", hint="name a socket directory")
    if keywords.get("load_balance_hosts", "disable") != "disable":
        raise UsageError("load_balance_hosts is not supported: all clients use the host that was connected first")
    if keywords.get("require_auth"):
        raise UsageError("require_auth is not supported by the load engine")
