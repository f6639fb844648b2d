"""The settings that a capture takes of a server, by their declarations; the query ``twin_settings`` says the same."""

from __future__ import annotations

from pgclinic.pg.catalog import Setting

_CATEGORIES = (
    "Query Tuning",
    "Resource Usage",
    "Statistics",
    "Lock Management",
    "Version and Platform Compatibility",
)
_TEXTS = frozenset(("search_path", "TimeZone", "DateStyle", "default_text_search_config"))


def is_captured(setting: Setting) -> bool:
    """Whether it decides plans, memory, vacuum or WAL. Settings that hold commands, libraries and files are none."""
    category = setting.category
    is_of_kind = (
        category.startswith(_CATEGORIES)
        or "acuum" in category
        or (category.startswith("Write-Ahead Log / ") and not any(word in category for word in ("Archiv", "Recovery")))
        or (category.startswith("Client Connection Defaults / ") and not category.endswith("Preloading"))
    )
    return is_of_kind and (setting.vartype != "string" or setting.name in _TEXTS)
