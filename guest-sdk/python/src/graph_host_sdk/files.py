"""Files in the granted folders. Needs `wasi:filesystem/types` in `wants`. Paths begin with the folder as the manifest names it to the node."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .bindings import imported, known, translated
from .failure import Category, Failure
from .text import checked

_CHUNK = 256 * 1024
"""How much of a file one host call reads or writes."""

Kind = Literal["file", "folder", "link", "other"]
"""What an entry of a folder is."""

_KINDS: dict[str, Kind] = {"REGULAR_FILE": "file", "DIRECTORY": "folder", "SYMBOLIC_LINK": "link"}


@dataclass(frozen=True)
class Entry:
    """An entry of a folder."""

    name: str
    """Its name in the folder."""
    kind: Kind
    """What it is."""


@dataclass(frozen=True)
class Stat:
    """What is known of a file or folder."""

    kind: Kind
    """What it is. A symbolic link is not followed."""
    size: int
    """Its size in bytes."""


def read(path: str) -> bytes:
    """The whole content of a file."""

    def call(folder: Any, rest: str) -> bytes:
        content = bytearray()
        with _open(folder, rest, [], ["READ"]) as file:
            while True:
                more, is_end = file.read(_CHUNK, len(content))
                content += more
                if is_end:
                    return bytes(content)

    return _at(path, call)


def read_text(path: str) -> str:
    """The whole content of a file, as UTF-8 text."""
    try:
        return read(path).decode()
    except UnicodeDecodeError:
        raise Failure("permanent", f"{path}: is not UTF-8 text") from None


def write(path: str, content: str | bytes) -> None:
    """Writes a file, in place of what it held."""
    data = content.encode() if isinstance(content, str) else bytes(content)

    def call(folder: Any, rest: str) -> None:
        with _open(folder, rest, ["CREATE", "TRUNCATE"], ["WRITE"]) as file:
            position = 0
            while position < len(data):
                written = file.write(data[position : position + _CHUNK], position)
                if written == 0:
                    raise Failure("permanent", f"{path}: nothing more could be written")
                position += written

    _at(path, call)


def list_folder(path: str) -> list[Entry]:
    """The entries of a folder, in order of their names."""

    def call(folder: Any, rest: str) -> list[Entry]:
        listed = []
        with _open(folder, rest, ["DIRECTORY"], ["READ"]) as opened, opened.read_directory() as entries:
            while (entry := entries.read_directory_entry()) is not None:
                listed.append(Entry(entry.name, _kind(entry.type)))
        return listed

    return _at(path, call)


def stat(path: str) -> Stat:
    """What an entry is, and its size in bytes."""

    def call(folder: Any, rest: str) -> Stat:
        found = folder.stat_at(_flags("PathFlags", []), rest)
        return Stat(_kind(found.type), found.size)

    return _at(path, call)


def create_folder(path: str) -> None:
    """Creates a folder in one that is there."""
    _at(path, lambda folder, rest: folder.create_directory_at(rest))


def remove(path: str) -> None:
    """Removes a file."""
    _at(path, lambda folder, rest: folder.unlink_file_at(rest))


def _open(folder: Any, rest: str, how: list[str], flags: list[str]) -> Any:
    return folder.open_at(
        _flags("PathFlags", ["SYMLINK_FOLLOW"]), rest, _flags("OpenFlags", how), _flags("DescriptorFlags", flags)
    )


def _flags(of: str, names: list[str]) -> Any:
    kind = getattr(imported("wasi_filesystem_types"), of)
    flags = kind(0)
    for name in names:
        flags |= kind[name]
    return flags


def _kind(of: Any) -> Kind:
    return _KINDS.get(of.name, "other")


def _at(path: str, call: Callable[[Any, str], Any]) -> Any:
    """Calls with the granted folder that a path lies in, the innermost one, and the path from there on."""
    checked(path)
    with contextlib.ExitStack() as opened:
        granted = [(opened.enter_context(folder), name) for folder, name in imported("preopens").get_directories()]
        best: tuple[int, Any, str] | None = None
        for folder, name in granted:
            prefix = name.rstrip("/")
            if not path or (path != prefix and not path.startswith(f"{prefix}/")):
                continue
            if best is None or len(name) > best[0]:
                best = (len(name), folder, path[len(prefix) + 1 :] or ".")
        if best is None:
            names = ", ".join(name for _, name in granted) or "none"
            raise Failure("denied", f"{path}: lies in no granted folder (granted: {names})")
        _, folder, rest = best
        return translated(lambda: call(folder, rest), lambda code: known(_CODES, getattr(code, "name", ""), path))


_CODES: dict[str, tuple[Category, str]] = {
    "ACCESS": ("denied", "Permission denied, similar to `EACCES` in POSIX."),
    "WOULD_BLOCK": ("transient", "Resource unavailable, or operation would block, similar to `EAGAIN` and `EWOULDBLOCK` in POSIX."),
    "ALREADY": ("permanent", "Connection already in progress, similar to `EALREADY` in POSIX."),
    "BAD_DESCRIPTOR": ("permanent", "Bad descriptor, similar to `EBADF` in POSIX."),
    "BUSY": ("transient", "Device or resource busy, similar to `EBUSY` in POSIX."),
    "DEADLOCK": ("permanent", "Resource deadlock would occur, similar to `EDEADLK` in POSIX."),
    "QUOTA": ("permanent", "Storage quota exceeded, similar to `EDQUOT` in POSIX."),
    "EXIST": ("permanent", "File exists, similar to `EEXIST` in POSIX."),
    "FILE_TOO_LARGE": ("permanent", "File too large, similar to `EFBIG` in POSIX."),
    "ILLEGAL_BYTE_SEQUENCE": ("invalid-input", "Illegal byte sequence, similar to `EILSEQ` in POSIX."),
    "IN_PROGRESS": ("permanent", "Operation in progress, similar to `EINPROGRESS` in POSIX."),
    "INTERRUPTED": ("transient", "Interrupted function, similar to `EINTR` in POSIX."),
    "INVALID": ("invalid-input", "Invalid argument, similar to `EINVAL` in POSIX."),
    "IO": ("permanent", "I/O error, similar to `EIO` in POSIX."),
    "IS_DIRECTORY": ("invalid-input", "Is a directory, similar to `EISDIR` in POSIX."),
    "LOOP": ("invalid-input", "Too many levels of symbolic links, similar to `ELOOP` in POSIX."),
    "TOO_MANY_LINKS": ("permanent", "Too many links, similar to `EMLINK` in POSIX."),
    "MESSAGE_SIZE": ("permanent", "Message too large, similar to `EMSGSIZE` in POSIX."),
    "NAME_TOO_LONG": ("invalid-input", "Filename too long, similar to `ENAMETOOLONG` in POSIX."),
    "NO_DEVICE": ("permanent", "No such device, similar to `ENODEV` in POSIX."),
    "NO_ENTRY": ("invalid-input", "No such file or directory, similar to `ENOENT` in POSIX."),
    "NO_LOCK": ("permanent", "No locks available, similar to `ENOLCK` in POSIX."),
    "INSUFFICIENT_MEMORY": ("permanent", "Not enough space, similar to `ENOMEM` in POSIX."),
    "INSUFFICIENT_SPACE": ("permanent", "No space left on device, similar to `ENOSPC` in POSIX."),
    "NOT_DIRECTORY": ("invalid-input", "Not a directory or a symbolic link to a directory, similar to `ENOTDIR` in POSIX."),
    "NOT_EMPTY": ("permanent", "Directory not empty, similar to `ENOTEMPTY` in POSIX."),
    "NOT_RECOVERABLE": ("permanent", "State not recoverable, similar to `ENOTRECOVERABLE` in POSIX."),
    "UNSUPPORTED": ("permanent", "Not supported, similar to `ENOTSUP` and `ENOSYS` in POSIX."),
    "NO_TTY": ("permanent", "Inappropriate I/O control operation, similar to `ENOTTY` in POSIX."),
    "NO_SUCH_DEVICE": ("permanent", "No such device or address, similar to `ENXIO` in POSIX."),
    "OVERFLOW": ("permanent", "Value too large to be stored in data type, similar to `EOVERFLOW` in POSIX."),
    "NOT_PERMITTED": ("denied", "Operation not permitted, similar to `EPERM` in POSIX."),
    "PIPE": ("permanent", "Broken pipe, similar to `EPIPE` in POSIX."),
    "READ_ONLY": ("denied", "Read-only file system, similar to `EROFS` in POSIX."),
    "INVALID_SEEK": ("permanent", "Invalid seek, similar to `ESPIPE` in POSIX."),
    "TEXT_FILE_BUSY": ("transient", "Text file busy, similar to `ETXTBSY` in POSIX."),
    "CROSS_DEVICE": ("permanent", "Cross-device link, similar to `EXDEV` in POSIX."),
}
"""What the codes of `wasi:filesystem/types` mean to a graph: the categories and, word for word, the texts that a node in Rust has."""
