"""Everything of an installation in one file, taken while it works, and back into an empty folder.

A zip: a manifest with the SHA-256 of every entry, the database (SQLite's online copy), a bundle of each repository with
all of its refs, and the files that cannot be made again: keys, heads of the trails, memory, packages' allow-lists.
Heads, database and refs are of one moment. The file holds the keys: mode 0600.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

FORMAT = "aiswe-backup/1"
MANIFEST = "manifest.json"
DATABASE = "db.sqlite3"
# Beside these: process files, caches and work in progress, which are made again; logs, which are not the data.
KEPT_FILES = ("secret_key", "models.toml")
KEPT_FOLDERS = ("keys", "chroma", "packages/projects")
TRIES, PAUSE_S = 30, 0.3
CHUNK = 1 << 20
LARGEST = 1 << 40  # bytes of one entry


class BackupFailed(Exception):
    """The backup could not be made or is not usable; the text says why."""

    hint = "docs/how-to/backup.md describes both commands."


@dataclass(frozen=True)
class PackedFile:
    """One file of a backup."""

    name: str
    sha256: str
    size: int


def git(*words: str, folder: Path, text: str = "") -> str:
    """Run git on a repository of ours. Raises BackupFailed with what it said."""
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    command = ["git", "-c", "core.hooksPath=/dev/null", *words]
    done = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
    if done.returncode:
        raise BackupFailed(f"git {words[0]} failed in {folder}: {done.stderr.strip()[:500]}")
    return done.stdout


@dataclass(frozen=True)
class Installation:
    """What is backed up; `hold` keeps the heads of the trails from being noted meanwhile."""

    home: Path
    database: Path
    repositories: Mapping[str, Path]  # by project
    hold: Callable[[], AbstractContextManager[object]]


def back_up(what: Installation, target: Path, version: str) -> list[PackedFile]:
    """Write the backup. Raises BackupFailed and OSError; the file is there only when it is whole."""
    draft = target.with_name(f".{target.name}.part")
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        with (
            os.fdopen(descriptor, "w+b") as raw,
            tempfile.TemporaryDirectory(prefix="backup-", dir=what.home) as folder,
        ):
            place = Path(folder)
            repositories = _moment(what, place)
            _others(what.home, place)
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                entries = [_add(archive, path.relative_to(place).as_posix(), path) for path in _files(place)]
                manifest = {
                    "format": FORMAT,
                    "version": version,
                    "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "repositories": repositories,
                    "entries": {entry.name: {"sha256": entry.sha256, "bytes": entry.size} for entry in entries},
                }
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            raw.flush()
            os.fsync(raw.fileno())
        os.link(draft, target)  # never over a file that is there
    finally:
        draft.unlink(missing_ok=True)
    return entries


def _moment(what: Installation, place: Path) -> list[str]:
    """Heads, database and repositories as of one moment, below `place`; the names of the repositories.

    A merge moves a ref and writes rows: a copy during which a ref moved is taken again. Objects are only ever added,
    so the bundles, which take longest, can be made after it.
    """
    for tries_left in reversed(range(TRIES)):
        shutil.rmtree(place / "audit", ignore_errors=True)
        with what.hold():
            before = {slug: _refs(folder) for slug, folder in what.repositories.items()}
            if (what.home / "audit").is_dir():
                shutil.copytree(what.home / "audit", place / "audit")
            _copy_database(what.database, place / DATABASE)
        if before != {slug: _refs(folder) for slug, folder in what.repositories.items()}:
            time.sleep(PAUSE_S)
            continue
        full = {slug: refs for slug, refs in before.items() if refs}
        try:
            for slug, refs in full.items():
                _bundle(what.repositories[slug], refs, place / "repositories" / slug)
        except BackupFailed:
            if not tries_left:
                raise
            continue
        return sorted(full)
    raise BackupFailed("The repositories never stood still for a moment. Pause the runs, or try again.")


def _refs(folder: Path) -> dict[str, str]:
    rows = git("for-each-ref", "--format=%(refname) %(objectname)", folder=folder).splitlines()
    return dict(row.rsplit(" ", 1) for row in rows)


def _bundle(folder: Path, refs: Mapping[str, str], target: Path) -> None:
    """A bundle with the commits of `refs`, and where each ref stood."""
    target.mkdir(parents=True, exist_ok=True)
    bundle = target / "objects.bundle"
    bundle.unlink(missing_ok=True)
    git("bundle", "create", "--quiet", str(bundle), "--stdin", folder=folder, text="\n".join(refs) + "\n")
    for row in git("bundle", "list-heads", str(bundle), folder=folder).splitlines():
        sha, name = row.split(" ", 1)
        if refs.get(name, sha) != sha:  # moved since; what it stood at must be among its ancestors
            git("merge-base", "--is-ancestor", refs[name], sha, folder=folder)
    (target / "refs").write_text("".join(f"update {name} {sha}\n" for name, sha in refs.items()))
    shutil.copyfile(folder / "HEAD", target / "HEAD")


def _copy_database(source: Path, target: Path) -> None:
    """A consistent copy of an SQLite file that may be written meanwhile; writers do not wait for it."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy)


def _others(home: Path, place: Path) -> None:
    """Copy the files that no moment ties to the database."""
    for path in [home / name for name in KEPT_FILES] + [each for name in KEPT_FOLDERS for each in _files(home / name)]:
        if path.is_file():
            target = place / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            (_copy_database if path.suffix == ".sqlite3" else shutil.copyfile)(path, target)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> PackedFile:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as sink:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            sink.write(chunk)
    return PackedFile(name, digest.hexdigest(), size)


def restore(source: Path, home: Path) -> dict[str, Any]:
    """Put the backup into the empty folder `home` and check every entry; returns the manifest.

    It is unpacked beside the folder and moved into place when all of it is right, so that a failure leaves nothing.
    Raises BackupFailed.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise BackupFailed(f"{home} is not an empty folder: a backup is never put over data that are there.")
    home.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))  # mode 0700
    try:
        manifest = _unpack(source, draft)
        for slug in manifest["repositories"]:
            _clone(draft, str(slug))
        with closing(sqlite3.connect(draft / DATABASE)) as database:
            said = database.execute("PRAGMA integrity_check").fetchone()[0]
            if said != "ok":
                raise BackupFailed(f"The database in {source} is damaged: {said}")
        if home.exists():
            home.rmdir()
        draft.rename(home)
    except (zipfile.BadZipFile, EOFError, sqlite3.DatabaseError) as error:
        raise BackupFailed(f"{source} is not a whole backup: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def unpack_repository(source: Path, slug: str, draft: Path) -> Path:
    """The repository of one project from the backup, made and checked below `draft`. Raises BackupFailed."""
    try:
        if slug not in _unpack(source, draft, only=f"repositories/{slug}/")["repositories"]:
            raise BackupFailed(f"{source} holds no repository of {slug}.")
        return _clone(draft, slug)
    except (zipfile.BadZipFile, EOFError) as error:
        raise BackupFailed(f"{source} is not a whole backup: {error}") from error


def _unpack(source: Path, draft: Path, only: str = "") -> dict[str, Any]:
    with zipfile.ZipFile(source) as archive:
        try:
            manifest = json.loads(archive.read(MANIFEST))
            entries = {str(name): (str(row["sha256"]), int(row["bytes"])) for name, row in manifest["entries"].items()}
            slugs = [str(slug) for slug in manifest["repositories"]]
        except (KeyError, ValueError, TypeError, AttributeError):
            raise BackupFailed(f"{source} is not a backup of AI SWE: its manifest is missing or unreadable.") from None
        if manifest.get("format") != FORMAT:
            raise BackupFailed(f"{source} has the format {manifest.get('format')!r}; this version reads {FORMAT}.")
        names = archive.namelist()
        if sorted(names) != sorted([*entries, MANIFEST]) or DATABASE not in entries:
            raise BackupFailed(f"{source} does not hold what its manifest lists.")
        if any(not _is_plain(name) for name in [*names, *slugs]):
            raise BackupFailed(f"{source} names files outside the data folder.")
        for name, (sha256, size) in entries.items():
            if not name.startswith(only):
                continue
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with archive.open(name) as packed, path.open("xb") as sink:
                os.fchmod(sink.fileno(), 0o600)
                left = min(size, LARGEST) + 1
                while left and (chunk := packed.read(min(CHUNK, left))):
                    digest.update(chunk)
                    sink.write(chunk)
                    left -= len(chunk)
            if left != 1 or digest.hexdigest() != sha256:
                raise BackupFailed(f"{name} in {source} is not what the manifest says: it was changed or damaged.")
    return {**manifest, "repositories": slugs}


def _is_plain(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and "\\" not in name and ".." not in parts and "\x00" not in name


def _clone(draft: Path, slug: str) -> Path:
    """A bare repository with every ref of the bundle, checked by git itself."""
    packed, folder = draft / "unpacked", draft / "repositories" / slug
    folder.rename(packed)
    folder.mkdir()
    git("init", "-q", "--bare", "--template=", ".", folder=folder)
    bundle = str(packed / "objects.bundle")
    git("fetch", "-q", "--no-write-fetch-head", bundle, "+refs/*:refs/*", folder=folder)
    git("update-ref", "--stdin", folder=folder, text=(packed / "refs").read_text())
    shutil.copyfile(packed / "HEAD", folder / "HEAD")
    git("fsck", "--full", "--no-dangling", folder=folder)
    shutil.rmtree(packed)
    return folder
