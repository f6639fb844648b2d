"""Copies of data directories: shared blocks where the file system can (reflink), plain copies else."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from pathlib import Path

from pgclinic.errors import DiskFullError, RunFailedError
from pgclinic.lab.account import Account, own

_FICLONE = 0x40049409
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
#: A data directory has about a thousand files, and as many while it is copied.
_FILES_MIN = 3000
LEFT_BEHIND = frozenset({"postmaster.pid", "postmaster.opts"})


def clone_tree(source: Path, target: Path, account: Account | None = None) -> None:
    """Copy a data or install directory to ``target``, which must not exist, for the given account.

    Raises DiskFullError and leaves nothing when there is no room.
    """
    try:
        _clone(source, target, account)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        if error.errno in NO_ROOM:
            raise no_room(target.parent, tree_bytes(source), f"copy {source.name}") from error
        raise RunFailedError(f"cannot copy {source} to {target}: {error}") from error
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def no_room(directory: Path, needed_bytes: int, purpose: str) -> DiskFullError:
    """The error for a full disk: where, what for, how much is needed and how much is free; or that it has no inodes."""
    while not directory.exists():
        directory = directory.parent
    free = shutil.disk_usage(directory).free
    inodes = os.statvfs(directory)
    # Files may have been removed since: some are free again. File systems without a limit have 0 in all.
    if free > needed_bytes and inodes.f_files > 0 and inodes.f_favail < _FILES_MIN:
        return DiskFullError(
            f"no room in {directory} to {purpose}: the file system has no inodes left "
            f"({inodes.f_favail:,} of {inodes.f_files:,}; one is needed for each file), {megabytes(free)} are free",
            hint="remove files there, run `pgclinic lab prune`, or set PGCLINIC_HOME to another file system",
        )
    return DiskFullError(
        f"no room in {directory} to {purpose}: {megabytes(needed_bytes)} are needed, {megabytes(free)} are free",
        hint="free disk space, run `pgclinic lab prune`, or set PGCLINIC_HOME to a larger disk",
    )


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.0f} MB"


def tree_bytes(path: Path) -> int:
    """Bytes a directory occupies on disk; files that vanish meanwhile count as nothing."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += Path(folder, name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def flush(path: Path) -> None:
    """Write out the file system of ``path``, so that no write-back of a copy runs into a measurement."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(descriptor)


def _clone(source: Path, target: Path, account: Account | None) -> None:
    target.mkdir()
    target.chmod(source.stat().st_mode & 0o7777)
    own(target, account)
    with os.scandir(source) as entries:
        for entry in entries:
            goal = target / entry.name
            if entry.is_symlink():
                _copy_link(Path(entry.path), goal, source)
            elif entry.is_dir():
                _clone(Path(entry.path), goal, account)
            elif entry.is_file() and entry.name not in LEFT_BEHIND:
                _copy_file(entry.path, goal, account)


def _copy_link(link: Path, goal: Path, source: Path) -> None:
    """Keep a link inside the tree; a tablespace points outside, and two servers would write the same files."""
    text = link.readlink()
    if text.is_absolute():
        raise RunFailedError(
            f"{source} has a tablespace outside ({text}), which cannot be copied",
            hint="use allow_in_place_tablespaces, or no tablespace",
        )
    goal.symlink_to(text)


def _copy_file(source: str, goal: Path, account: Account | None) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(reader)
        writer = os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, status.st_mode & 0o7777)
        try:
            if account is not None:
                os.fchown(writer, account.uid, account.gid)
            if status.st_size and not _share_blocks(reader, writer):
                _copy_bytes(reader, writer)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _share_blocks(reader: int, writer: int) -> bool:
    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        return False
    return True


def _copy_bytes(reader: int, writer: int) -> None:
    """Copy inside the kernel, or through a buffer where it cannot (other file systems on old kernels)."""
    try:
        while os.copy_file_range(reader, writer, 1 << 30):
            pass
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        os.lseek(reader, 0, os.SEEK_SET)
        os.lseek(writer, 0, os.SEEK_SET)
        while block := os.read(reader, 1 << 20):
            view = memoryview(block)
            while view:
                view = view[os.write(writer, view) :]
