"""Settings that one session begins with, on a server whose configuration is not ours to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from pgclinic.errors import PgclinicError, SettingError
from pgclinic.model.decoding import decoded_json
from pgclinic.pg.libpq import escaped_option
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.settings.catalog import Setting, SettingsCatalog, checked_settings

READ_ONLY = {"default_transaction_read_only": "on"}
_TIMEOUT_MS = 30_000
#: What it takes to change the others.
_NEEDS = {"sighup": "a reload of the server", "postmaster": "a restart of the server", "internal": "another server"}


def with_settings(access: Access, settings: Mapping[str, str]) -> Access:
    """The same server for sessions that begin with ``settings``: those of the load, and our own."""
    if not settings:
        return access
    server = access.server
    ours = " ".join(f"-c {name}={escaped_option(value)}" for name, value in settings.items())
    options = f"{server.parameters.get('options', '')} {ours}".strip()
    return replace(
        access,
        server=msgspec.structs.replace(server, parameters=server.parameters | {"options": options}),
        startup_options=f"{access.startup_options} {ours}".strip(),
    )


def check_session_settings(access: Access, settings: Mapping[str, str]) -> None:
    """Raise UnknownNameError or SettingError for the first setting that a session cannot begin with."""
    if not settings:
        return
    catalog = _catalog(access)
    for name in checked_settings(catalog, settings):
        setting = catalog.find(name)
        if setting is not None and setting.context in _NEEDS:
            raise SettingError(
                f"{name} cannot be set for a session: it needs {_NEEDS[setting.context]}",
                hint="omit --dsn: the lab then starts a server with this setting",
            )
    try:
        # Only the server knows what this user may set.
        Session(with_settings(access, settings), statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic").close()
    except PgclinicError as error:
        raise SettingError(f"the server refuses a session with these settings: {error.message}") from error


def _catalog(access: Access) -> SettingsCatalog:
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic") as session:
        (text,) = session.row(query("settings", access.major))
    settings = decoded_json(text, tuple[Setting, ...])
    return SettingsCatalog(version=access.server.version, major=access.major, settings=settings)
