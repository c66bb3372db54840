"""Files are written as a whole or not at all, and not through links that leave the repository."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from smemlint.files.sandbox import resolve_given

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _CREATE |= getattr(os, _flag, 0)


def replace_file(path: str, data: bytes) -> None:
    """Writes a file: beside it first, then in its place, with its mode and owner.

    Whatever interrupts it, the file holds its old bytes or the new ones. A device or FIFO, such as
    `/dev/stdout`, is written to as it is.

    Raises:
        AccessDenied: a link leads out of the repository that the path is in.
        OSError: it cannot be written; the file is as it was.
    """
    target = resolve_given(path)
    try:
        status = os.stat(target)  # one of many calls of os here
    except FileNotFoundError:
        status = None
    if status is not None and not stat.S_ISREG(status.st_mode):
        with open(path, "wb") as file:  # what cannot be replaced
            file.write(data)
        return
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    beside = f"{target}.{os.urandom(6).hex()}.tmp"
    number = os.open(beside, _CREATE, 0o666 if status is None else 0o600)
    try:
        with open(number, "wb") as file:  # it is open already
            file.write(data)
            file.flush()
            os.fsync(number)
            if status is not None:
                _take_over(number, status)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _sync_folder(os.path.dirname(target))


def _take_over(number: int, status: os.stat_result) -> None:
    """Gives the new file the owner and mode of the old one, as far as the system lets us."""
    if hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(number, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(number, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: str) -> None:
    """Makes the new name last; Windows opens no folders."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
