"""Files into and out of the workspace, following no link that a command planted."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from sandbox.inside.pipe import Head, Refused

ROOT = "/workspace"
PACKAGES = "/packages/node_modules"
MOST_LISTED = 50_000


def folder_fd(parts: list[str], *, make: bool) -> int:
    """Open the folder that holds a path, one component at a time, following no link."""
    fd = os.open(ROOT, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    for part in parts:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
            below = os.open(part, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Refused(f"{'/'.join(parts)}: '{part}' is not a folder of the workspace") from None
            raise
        finally:
            os.close(fd)
        fd = below
    return fd


def split(path: str) -> list[str]:
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Refused(f"{path!r} is not a path inside the workspace")
    return parts


def check_writable(path: str) -> None:
    """Refuse a path that a planted link would lead elsewhere."""
    parts = split(path)
    try:
        fd = folder_fd(parts[:-1], make=False)
    except FileNotFoundError:
        return
    try:
        mode = os.lstat(parts[-1], dir_fd=fd).st_mode
        if not stat.S_ISREG(mode):
            raise Refused(f"{path!r} exists and is not a regular file")
    except FileNotFoundError:
        pass
    finally:
        os.close(fd)


def write_file(path: str, data: bytes, mode: int) -> None:
    parts = split(path)
    fd = folder_fd(parts[:-1], make=True)
    try:
        # A new inode: another name of the old one must not change with it.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=fd)
        out = os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=fd)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(out, view) :]
        finally:
            os.close(out)
    finally:
        os.close(fd)


def read_file(path: str, room: int) -> bytes | None:
    parts = split(path)
    try:
        fd = folder_fd(parts[:-1], make=False)
    except FileNotFoundError:
        return None
    try:
        source = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(f"{path!r} is a link") from None
        if error.errno in (errno.ENOENT, errno.ENXIO, errno.EACCES, errno.ENAMETOOLONG):
            return None
        raise
    finally:
        os.close(fd)
    with open(source, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return None
        if about.st_size > room:
            raise ValueError(f"{path!r} is {about.st_size} bytes: more than may be read back in one call")
        return file.read(room)


def listing() -> list[list[object]]:
    """All that is in the workspace but folders: path, whether it is a regular file, a program, size, sha256.

    Links are not followed. Raises ValueError for more than MOST_LISTED.
    """
    import hashlib

    found: list[list[object]] = []

    def walk(fd: int, prefix: str) -> None:
        for name in sorted(os.listdir(fd)):
            path, mode = f"{prefix}{name}", os.lstat(name, dir_fd=fd).st_mode
            if len(found) >= MOST_LISTED:
                raise ValueError(f"the workspace holds more than {MOST_LISTED} files")
            if stat.S_ISDIR(mode):
                os.chmod(name, 0o755, dir_fd=fd)  # noqa: S103 - as in clear()
                below = os.open(name, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                try:
                    walk(below, f"{path}/")
                finally:
                    os.close(below)
            elif stat.S_ISREG(mode):
                os.chmod(name, stat.S_IMODE(mode) | 0o400, dir_fd=fd)
                source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
                with open(source, "rb") as file:
                    size = os.fstat(source).st_size
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                found.append([path, True, bool(mode & 0o100), size, sha256])
            else:
                found.append([path, False, False, 0, ""])

    fd = os.open(ROOT, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    try:
        walk(fd, "")
    finally:
        os.close(fd)
    return found


def clear(wanted: dict[str, str]) -> list[str]:
    """Delete all that is not wanted (path to sha256) and tell what is missing or different."""
    import hashlib

    folders = {os.path.dirname(path) for path in wanted}
    for folder in list(folders):
        while folder:
            folders.add(folder)
            folder = os.path.dirname(folder)
    present = set()

    def walk(fd: int, prefix: str) -> None:
        for name in os.listdir(fd):
            path = f"{prefix}{name}"
            mode = os.lstat(name, dir_fd=fd).st_mode
            if stat.S_ISDIR(mode):
                os.chmod(name, 0o755, dir_fd=fd)  # noqa: S103 - the command may have closed it to us
                below = os.open(name, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                try:
                    walk(below, f"{path}/")
                finally:
                    os.close(below)
                if path not in folders:
                    os.rmdir(name, dir_fd=fd)
                continue
            if stat.S_ISREG(mode) and path in wanted:
                source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                with open(source, "rb") as file:
                    same = hashlib.file_digest(file, "sha256").hexdigest() == wanted[path]
                if same:
                    present.add(path)
                    continue
            os.unlink(name, dir_fd=fd)

    fd = os.open(ROOT, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    try:
        walk(fd, "")
    finally:
        os.close(fd)
    link_packages()
    return [path for path in wanted if path not in present]


def link_packages() -> None:
    """Make the packages of npm visible where Node looks from the workspace, for `require` and for `import`.

    A folder of links rather than one link: tools keep what they remember in it.
    """
    try:
        names = sorted(os.listdir(PACKAGES))
    except OSError:
        return
    for name in names:
        place, source = f"{ROOT}/node_modules/{name}", f"{PACKAGES}/{name}"
        below = sorted(os.listdir(source)) if name.startswith("@") or name == ".bin" else [""]
        for part in below:
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                os.makedirs(os.path.dirname(f"{place}/{part}".rstrip("/")), exist_ok=True)
                os.symlink(f"{source}/{part}".rstrip("/"), f"{place}/{part}".rstrip("/"))


def files_in(head: Head, body: bytes) -> tuple[Head, bytes]:
    if head.get("strict", True):
        for entry in head["files"]:
            check_writable(entry[0])
    at = 0
    for path, size, mode in head["files"]:
        write_file(path, body[at : at + size], mode)
        at += size
    return {}, b""


def files_out(head: Head) -> tuple[Head, bytes]:
    found, parts, room = [], [], int(head["room"])
    for path in head["paths"]:
        data = read_file(path, room)
        if data is not None:
            found.append([path, len(data)])
            parts.append(data)
            room -= len(data)
    return {"files": found}, b"".join(parts)
