"""Settings of a lab server: what the user asked for, checked, on top of what the lab itself decides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pgclinic.errors import SettingError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.version import Version
from pgclinic.settings.catalog import checked_settings

SOCKET_PORT = 5432
# initdb would derive some of these from the machine it runs on; as literals they are the same everywhere.
DEFAULTS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "posix",
    "max_wal_size": "1GB",
    "min_wal_size": "80MB",
    "TimeZone": "UTC",
    "log_timezone": "UTC",
    "DateStyle": "ISO, MDY",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "default_text_search_config": "pg_catalog.english",
    "log_line_prefix": "%m [%p] ",
}
_LAB_DECIDES = {
    "port": "use --port",
    "listen_addresses": "use --port",
    "unix_socket_directories": None,
    "data_directory": None,
    "config_file": None,
    "hba_file": None,
    "ident_file": None,
    "external_pid_file": None,
}


def check_settings(binaries: Binaries, settings: Mapping[str, str]) -> None:
    """Raise UnknownNameError or SettingError for the first setting that this version would refuse."""
    canonical_settings(binaries, settings)


def canonical_settings(binaries: Binaries, settings: Mapping[str, str]) -> dict[str, str]:
    """The checked settings under the names of that version's own catalog."""
    checked = checked_settings(settings_catalog(binaries), settings)
    for name in checked:
        if name in _LAB_DECIDES:
            raise SettingError(f"{name} is set by the lab", hint=_LAB_DECIDES[name])
    return checked


def literal_settings(version: Version, asked: Mapping[str, str], socket_dir: Path, port: int | None) -> dict[str, str]:
    """Every setting that will be written: the lab's, the asked ones over them, and where to listen."""
    return {
        **DEFAULTS,
        **({"autovacuum_worker_slots": "16"} if version.major >= 18 else {}),
        **asked,
        "listen_addresses": "127.0.0.1" if port is not None else "",
        "port": str(port if port is not None else SOCKET_PORT),
        "unix_socket_directories": str(socket_dir),
    }
