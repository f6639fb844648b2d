"""Downloads: once, whole or not at all, and not needed for what is here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for, cli, python, temporary_home
from pgclinic.errors import SourceError, UnknownNameError
from pgclinic.lab.binaries import FetchProgress
from pgclinic.lab.sources import find_source, maven
from pgclinic.lab.sources.releases import parse_release

# A port that nobody listens on: every download fails at once.
OFFLINE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network any more, after this home has got its 13."""
    binaries_for("13")
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)


def test_a_branch_means_its_newest_release(fresh_home: Path) -> None:
    binaries_for("13")
    release = max(maven.known_releases(), key=lambda one: (one.version.family == 130000, one.version))
    assert find_source("13").version == str(release.version)
    assert release.version.minor is not None
    assert release.version.minor >= 23


def test_two_commands_fetch_a_version_once_and_whole() -> None:
    with temporary_home(linked=False) as home:
        script = """
            from pgclinic.lab.sources import find_source
            seen = set()
            print(find_source("13.3").ensure(lambda progress: seen.add(progress.what)).version)
            print("downloaded" if any("downloading" in what for what in seen) else "found")
        """
        processes = [python(script) for _ in range(2)]
        said = [process.communicate(timeout=120) for process in processes]
        assert [out.split()[0] for out, _ in said] == ["13.3", "13.3"], said
        assert sorted(out.split()[1] for out, _ in said) == ["downloaded", "found"]
        left = {path.name for path in (home / "versions").iterdir() if path.suffix != ".lock"}
        assert left == {"13.3.0", ".known.json", ".maven"}


def test_a_download_tells_its_progress() -> None:
    with temporary_home(linked=False):
        seen = list[FetchProgress]()
        find_source("13.3").ensure(seen.append)
        amounts = [one.done_bytes for one in seen if one.what == "downloading PostgreSQL 13.3"]
        assert amounts == sorted(amounts)
        assert amounts[-1] == seen[0].total_bytes
        assert seen[-1].what == "unpacking PostgreSQL 13.3"


def test_a_download_with_another_checksum_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maven, "_published_checksum", lambda _release, _cache: ("sha512", "0" * 128))
    with temporary_home(linked=False) as home:
        with pytest.raises(
            SourceError, match=r"13\.3 could not be downloaded: its sha512 checksum is [0-9a-f]{128}, and 0"
        ):
            find_source("13.3").ensure()
        assert [
            path.name for path in (home / "versions").iterdir() if path.name[0].isdigit() or "new" in path.name
        ] == []


@pytest.mark.parametrize(("coordinate", "algorithm"), [("9.6.10", "sha1"), ("13.3.0", "sha512"), ("18.6.0", "sha512")])
def test_a_checksum_is_published_beside_old_and_new_releases(coordinate: str, algorithm: str, tmp_path: Path) -> None:
    strongest, published = maven._published_checksum(parse_release(coordinate), tmp_path)
    assert strongest == algorithm
    assert len(published) == hashlib.new(algorithm).digest_size * 2


@pytest.mark.parametrize(("wish", "nearest"), [("13.6", "13.5"), ("8.4", None), ("99", None), ("13.1.7", "13.1")])
def test_a_version_that_does_not_exist_leads_to_the_nearest(wish: str, nearest: str | None, fresh_home: Path) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown PostgreSQL version '{wish}'") as caught:
        find_source(wish).ensure()
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean ")
    assert nearest in (None, caught.value.nearest)


@pytest.mark.usefixtures("offline")
def test_what_is_here_needs_no_network(fresh_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = binaries_for("13").version
    monkeypatch.setattr(maven, "_fetch_list", lambda: pytest.fail("an exact version that is here asks nobody"))
    assert find_source(version).ensure().version == version


@pytest.mark.usefixtures("offline")
def test_without_network_a_branch_means_what_is_here(fresh_home: Path) -> None:
    version = binaries_for("13").version
    (fresh_home / "versions" / ".known.json").unlink()
    assert find_source("13").ensure().version == version


@pytest.mark.usefixtures("offline")
def test_without_network_and_without_a_copy_it_says_so() -> None:
    with temporary_home(linked=False), pytest.raises(SourceError, match="could not be downloaded"):
        find_source("13.3").ensure()


@pytest.mark.usefixtures("offline")
def test_a_failed_download_leaves_nothing(fresh_home: Path) -> None:
    """The list is known, the release is not here."""
    maven.known_releases()
    with pytest.raises(SourceError, match="could not be downloaded"):
        find_source("15.1").ensure()
    assert [path.name for path in (fresh_home / "versions").iterdir() if path.name.startswith(".new")] == []


def test_the_list_shows_what_is_here(fresh_home: Path) -> None:
    version = binaries_for("13").version
    shown = cli("lab", "versions", **OFFLINE)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert lines[0] == ["VERSION", "STATE", "SOURCE"]
    assert [version, "downloaded", "maven"] in lines
    assert any(line[1:] == ["downloaded", "embedded"] for line in lines)
