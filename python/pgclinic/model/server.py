"""A server as every other layer sees it: where it listens and which PostgreSQL it is."""

from __future__ import annotations

from pgclinic.model.record import Record


class Server(Record):
    """One running PostgreSQL. It never holds a password, so it can be stored and shown as it is.

    ``host`` is a socket directory when it starts with a slash. ``source`` says where the binaries come from:
    ``embedded``, ``maven``, ``bindir`` or ``attached``; an attached server was started by somebody else, and its
    ``data_dir``, ``log_path`` and ``pid`` are None. ``settings`` are the literals the lab wrote for this server;
    ``parameters`` are further libpq keywords without secrets, such as ``sslmode`` or ``passfile``.
    """

    name: str
    source: str
    version: str
    version_num: int
    host: str
    port: int
    user: str
    database: str
    data_dir: str | None = None
    log_path: str | None = None
    pid: int | None = None
    settings: dict[str, str] = {}
    parameters: dict[str, str] = {}

    @property
    def major(self) -> int:
        """18 for 18.6, 9 for 9.6."""
        return self.version_num // 10000


def server_words(version: str, source: str, database: str | None = None) -> str:
    """How every command names a server: PostgreSQL 18.6 (embedded), PostgreSQL 16.4 (attached, database shop).

    ``source`` as in Server, or the directory of an installed one.
    """
    return f"PostgreSQL {version} ({source if database is None else f'{source}, database {database}'})"
