"""What becomes of settings when another major version reads them."""

from __future__ import annotations

import pytest

from pgclinic.model.upgrade import SettingChangeKind
from pgclinic.settings.catalog import Setting, SettingsCatalog
from pgclinic.settings.release_changes import setting_changes, settings_there

TUNING = "Query Tuning / Other Planner Options"


def setting(name: str, boot_val: str, **more: str | None) -> Setting:
    given: dict[str, str | None] = {"context": "user", "vartype": "integer", "category": TUNING, **more}
    return Setting(name=name, boot_val=boot_val, min_val="0", max_val="1000", **given)  # type: ignore[arg-type]


def catalog(major: int, *settings: Setting) -> SettingsCatalog:
    return SettingsCatalog(version=f"{major}.1", major=major, settings=settings)


OLD = catalog(
    14,
    setting("kept", "1"),
    setting("moved", "1"),
    setting("gone", "1"),
    setting("narrow", "1"),
    setting("pages", "16384", unit="8kB"),
    setting("logged", "1", category="Reporting and Logging / What to Log"),
    setting("force_parallel_mode", "off", vartype="bool"),
    setting("data_directory_mode", "1", category="Preset Options"),
)
NEW = catalog(
    18,
    setting("kept", "1"),
    setting("moved", "2"),
    Setting(name="narrow", context="user", vartype="integer", category=TUNING, boot_val="1", min_val="0", max_val="5"),
    setting("pages", "131072", unit="kB"),
    setting("logged", "2", category="Reporting and Logging / What to Log"),
    setting("debug_parallel_query", "off", vartype="bool"),
    setting("data_directory_mode", "2", category="Preset Options"),
    setting("fresh", "1"),
)


def kinds(**original: str) -> dict[str, SettingChangeKind]:
    return {one.setting: one.kind for one in setting_changes(OLD, NEW, original)}


def test_what_a_server_leaves_alone_changes_with_its_default() -> None:
    assert kinds() == {"moved": SettingChangeKind.DEFAULT, "logged": SettingChangeKind.DEFAULT}
    moved, logged = setting_changes(OLD, NEW, {})
    assert (moved.before, moved.after, moved.is_known) == ("1", "2", True)
    # A twin does not record what a server logs, so nobody knows whether it has the default.
    assert (logged.setting, logged.is_known) == ("logged", False)


def test_what_a_server_has_set_does_not_change_with_the_default() -> None:
    assert "moved" not in kinds(moved="1")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("gone", "7", SettingChangeKind.GONE),
        ("narrow", "7", SettingChangeKind.REFUSED),
        ("pages", "100", SettingChangeKind.READ_OTHERWISE),
        ("force_parallel_mode", "on", SettingChangeKind.RENAMED),
    ],
)
def test_what_a_server_has_set(name: str, value: str, kind: SettingChangeKind) -> None:
    assert kinds(**{name: value})[name] is kind
    # It is said first: it has to be done, where a default is only to be known.
    assert setting_changes(OLD, NEW, {name: value})[0].setting == name


def test_a_value_that_is_refused_comes_with_the_reason() -> None:
    (refused,) = [one for one in setting_changes(OLD, NEW, {"narrow": "7"}) if one.setting == "narrow"]
    assert "0 to 5" in refused.detail


def test_the_new_server_gets_what_it_has_and_takes() -> None:
    original = {"kept": "3", "gone": "3", "narrow": "7", "force_parallel_mode": "on"}
    assert settings_there(NEW, original) == {"kept": "3", "debug_parallel_query": "on"}


def test_a_version_against_itself_changes_nothing() -> None:
    assert setting_changes(OLD, OLD, {"kept": "3"}) == ()
