"""Taking code in from outside: from a repository on this machine or at an address, or as plain files.

All ends in a new bare repository of ours. Of the source only objects are taken, through git's own upload-pack: no hook,
no configuration and no working copy, and nothing of the source is written.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from agents.secrets.redaction import redact
from agents.workspace.addresses import GitAddress, SourceRefused, place_of
from agents.workspace.git import ENVIRONMENT, is_branch_name

ORIGIN = "refs/remotes/origin"
_SETTINGS = (
    "core.hooksPath=/dev/null core.fsmonitor=false core.symlinks=false core.attributesFile=/dev/null"
    " protocol.allow=never http.followRedirects=false http.sslVerify=true credential.helper= gc.auto=0"
    " maintenance.auto=false transfer.fsckObjects=true init.defaultBranch=main fetch.fsck.badTimezone=ignore"
    " fetch.fsck.zeroPaddedFilemode=ignore fetch.fsck.missingSpaceBeforeDate=ignore fetch.fsck.missingEmail=ignore"
)
_SSH = (
    "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o ProxyCommand=none -o PermitLocalCommand=no"
    " -o ForwardAgent=no -o IdentitiesOnly=yes -o ConnectTimeout=20"
)
_MOST_OUTPUT = 64_000_000


@dataclass(frozen=True)
class FetchLimits:
    """How long taking code in may last, and how much it may bring."""

    seconds: float = 600.0
    megabytes: int = 1000
    when_late: str = "`aiswe project import` may take as long as AISWE_IMPORT_SECONDS says."


@dataclass(frozen=True)
class RemoteAccess:
    """How other hosts are reached: `private` ones may have private addresses, `tokens` are credentials by host.

    A token is `user:password` or a token alone; it is given to its host only, and not on the command line.
    """

    private: Iterable[str] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    ssh_key: str = ""


LIMITS, NOBODY = FetchLimits(), RemoteAccess()


@dataclass(frozen=True)
class Fetched:
    """What was taken in: the branch that work starts from, and its newest commit."""

    branch: str
    head: str
    notes: tuple[str, ...] = ()  # what a person should know of it


@dataclass(frozen=True)
class PlainFile:
    """A file of a source that is no repository. `mode` is git's; the content of a link is where it leads."""

    path: str
    content: bytes
    mode: str = "100644"


def clone_address(
    address: GitAddress, target: Path, branch: str = "", *, access: RemoteAccess = NOBODY, limits: FetchLimits = LIMITS
) -> Fetched:
    """Fetch all branches and tags of an address into a new bare repository at `target`. Raises SourceRefused."""
    try:
        return _clone(str(address), target, branch, limits, *connection(address, access))
    except SourceRefused as refused:
        raise SourceRefused(f"{address}: {refused}") from None


def connection(address: GitAddress, access: RemoteAccess) -> tuple[dict[str, str], dict[str, str]]:
    """Environment and settings with which git talks to the IP address that was checked, and to nothing else."""
    place = place_of(address, access.private)
    host = address.host.strip("[]")
    environment, config = {"GIT_ALLOW_PROTOCOL": address.scheme}, {}
    if address.scheme == "https":
        pinned = f"[{place}]" if ":" in place else place
        config["http.curloptResolve"] = f"{host}:{address.port}:{pinned}"
        if authorities := os.environ.get("SSL_CERT_FILE"):
            config["http.sslCAInfo"] = authorities
        if token := access.tokens.get(host.lower()):
            given = token if ":" in token else f"x-access-token:{token}"
            header = f"Authorization: Basic {base64.b64encode(given.encode()).decode()}"
            for port in (f":{address.port}", ""):
                config[f"http.https://{address.host}{port}/.extraHeader"] = header
    else:
        # Without a key none: those of the account that this runs as are not meant.
        key = f"-i {shlex.quote(access.ssh_key)}" if access.ssh_key else "-o IdentityFile=none"
        alias = host if address.port == 22 else f"'[{host}]:{address.port}'"  # as known_hosts names it
        environment["GIT_SSH_COMMAND"] = f"{_SSH} -o HostName={place} -o HostKeyAlias={alias} {key}"
        environment["GIT_SSH_VARIANT"] = "ssh"
    return environment, config


def clone_folder(source: Path, target: Path, branch: str = "", *, limits: FetchLimits = LIMITS) -> Fetched:
    """Fetch all branches and tags of a repository on this machine, as clone_address() does. Raises SourceRefused."""
    fetched = _clone(str(source.resolve()), target, branch, limits, {"GIT_ALLOW_PROTOCOL": "file"}, {})
    if (source / ".git").exists() and (edits := _uncommitted(source, target)):
        note = f"Left out: {edits} uncommitted in {source.name}. Commit them to bring them in."
        return replace(fetched, notes=(*fetched.notes, note))
    return fetched


def take_commit(source: Path, target: Path, commit: str, *, limits: FetchLimits = LIMITS) -> None:
    """Fetch the files of one commit, by its full hash, into a new bare repository at `target`.

    What came before and after it in the source stays there. Raises SourceRefused.
    """
    with _new_repository(target, "main") as fresh:
        run = BoundedGit(fresh, {"GIT_ALLOW_PROTOCOL": "file"}, {}, limits)
        options = "--quiet --depth=1 --no-tags --no-write-fetch-head --no-auto-gc --".split()
        run("fetch", *options, str(source.resolve()), f"{commit}:refs/heads/main")
        run("symbolic-ref", "HEAD", "refs/heads/main")


def fetch_into(
    git_dir: Path,
    address: GitAddress,
    refs: Mapping[str, str],
    *,
    access: RemoteAccess = NOBODY,
    limits: FetchLimits = LIMITS,
) -> None:
    """Fetch references of an address into a repository that is there, each under a name of ours. Raises SourceRefused.

    What stands under such a name is replaced; nothing else in the repository moves.
    """
    environment, config = connection(address, access)
    run = BoundedGit(git_dir, environment, config, limits)
    options = "--quiet --no-tags --no-write-fetch-head --no-auto-gc --no-recurse-submodules --".split()
    try:
        run("fetch", *options, str(address), *(f"+{theirs}:{ours}" for theirs, ours in refs.items()))
    except SourceRefused as refused:
        raise SourceRefused(f"{address}: {refused}") from None


def _clone(
    source: str,
    target: Path,
    branch: str,
    limits: FetchLimits,
    environment: Mapping[str, str],
    config: Mapping[str, str],
) -> Fetched:
    with _new_repository(target, branch) as fresh:
        run = BoundedGit(fresh, environment, config, limits)
        heads = _heads(run, source)
        chosen = branch or heads.get("HEAD", "")
        if not chosen or chosen not in heads:
            names = ", ".join(sorted(set(heads) - {"HEAD"})[:10])
            asked = f"no branch {branch!r}" if branch else "no branch that is checked out"
            # A server's page, too, is read as a repository without a commit.
            page = ", or this is the address of a page" if source.startswith("https:") else ""
            empty = f"The repository has no commit yet{page}."
            raise SourceRefused(f"It has {asked}. There are: {names}." if names else empty)
        options = "--quiet --update-shallow --no-write-fetch-head --no-auto-gc --".split()
        run("fetch", *options, source, f"+refs/heads/*:{ORIGIN}/*", "+refs/tags/*:refs/tags/*")
        head = run("rev-parse", "--verify", f"{ORIGIN}/{chosen}^{{commit}}").strip()
        run("update-ref", f"refs/heads/{chosen}", head, "")
        run("symbolic-ref", "HEAD", f"refs/heads/{chosen}")
        notes = []
        if (fresh / "shallow").exists():
            notes.append("It is a shallow clone: the history before its oldest commits is not there.")
        if any(row.startswith("160000") for row in run("ls-tree", "-r", head).splitlines()):
            notes.append("It has submodules: their files are not taken in.")
    return Fetched(chosen, head, tuple(notes))


def _heads(run: BoundedGit, source: str) -> dict[str, str]:
    """Branches with their commits, and under HEAD the name of the one that is checked out."""
    found: dict[str, str] = {}
    for row in run("ls-remote", "--symref", "--", source, "HEAD", "refs/heads/*").splitlines():
        value, _, name = row.partition("\t")
        if name == "HEAD" and value.startswith("ref: refs/heads/"):
            found["HEAD"] = value.removeprefix("ref: refs/heads/")
        elif name.startswith("refs/heads/") and name != "refs/heads/HEAD":
            found[name.removeprefix("refs/heads/")] = value
    return found


def commit_files(files: Iterable[PlainFile], target: Path, branch: str, title: str) -> Fetched:
    """A new bare repository at `target` whose first commit holds exactly these files. Raises SourceRefused."""
    branch, now = branch or "main", int(time.time())
    with _new_repository(target, branch) as fresh, tempfile.TemporaryFile() as stream:
        message = title.encode("utf-8", "replace")
        who = f"AI SWE <aiswe@localhost> {now} +0000"
        stream.write(f"commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n".encode())
        stream.write(message + b"\n")
        for file in files:
            quoted = file.path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            stream.write(
                f'M {file.mode} inline "{quoted}"\ndata {len(file.content)}\n'.encode("utf-8", "surrogateescape")
            )
            stream.write(file.content + b"\n")
        stream.seek(0)
        run = BoundedGit(fresh, {}, {}, FetchLimits())
        run("fast-import", "--quiet", given=stream)
        head = run("rev-parse", "--verify", f"refs/heads/{branch}").strip()
        run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    return Fetched(branch, head)


def _uncommitted(source: Path, clone: Path) -> str:
    """What of a working copy is in no commit, in words; judged with our settings and an index of our own."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = {"GIT_WORK_TREE": str(source.resolve()), "GIT_INDEX_FILE": f"{scratch}/index"}
        run = BoundedGit(clone, paths, {}, FetchLimits(seconds=60))
        try:
            heads = _heads(BoundedGit(clone, {"GIT_ALLOW_PROTOCOL": "file"}, {}, FetchLimits(seconds=60)), str(source))
            run("read-tree", f"{ORIGIN}/{heads['HEAD']}")
            rows = run("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all").splitlines()
        except (SourceRefused, KeyError):  # no branch that is checked out
            return ""
    new = sum(row[:2] == "??" for row in rows)
    kinds = {"edited file": len(rows) - new, "new file": new}
    return " and ".join(f"{count} {word}{'s' * (count > 1)}" for word, count in kinds.items() if count)


@contextlib.contextmanager
def _new_repository(target: Path, branch: str) -> Iterator[Path]:
    """A bare repository that appears at `target` when the block ends, and not at all when it fails."""
    if branch and not is_branch_name(branch):
        raise SourceRefused(f"{branch[:80]!r} is not a valid branch name.")
    if target.exists():
        raise SourceRefused(f"There is something at {target.name} already.")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".incoming-", dir=target.parent))
    try:
        BoundedGit(fresh, {}, {}, FetchLimits(seconds=60))("init", "--quiet", "--bare", "--template=", ".")
        yield fresh
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


class BoundedGit:
    """git in a new repository of ours, with bounds on time and size; raises SourceRefused with a sentence."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], config: Mapping[str, str], limits: FetchLimits
    ) -> None:
        self._folder, self._limits, self._end = folder, limits, time.monotonic() + limits.seconds
        # Settings by environment: a command line can be read by every user of the machine.
        pairs = [*(setting.split("=", 1) for setting in _SETTINGS.split()), *config.items()]
        self._environment = {
            **ENVIRONMENT,
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "GIT_DIR": str(folder),
            "GIT_ASKPASS": "true",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CONFIG_COUNT": str(len(pairs)),
            **{f"GIT_CONFIG_KEY_{at}": name for at, (name, _) in enumerate(pairs)},
            **{f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(pairs)},
            **environment,
        }

    def __call__(self, *argv: str, given: IO[bytes] | None = None) -> str:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                ["git", *argv],
                cwd=self._folder,
                env=self._environment,
                stdin=given or subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                problem = self._watch(process)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said = _read(err, -2000)
            if problem or process.returncode:
                raise SourceRefused(problem or _in_words(said))
            return _read(out, _MOST_OUTPUT)

    def _watch(self, process: subprocess.Popen[bytes]) -> str:
        """Wait for its end; why it must not go on, or ""."""
        pause = 0.01
        while process.poll() is None:
            if time.monotonic() > self._end:
                return f"It did not end within {self._limits.seconds:.0f} s. {self._limits.when_late}"
            if _size(self._folder) > self._limits.megabytes * 1_000_000:
                return f"The repository holds more than {self._limits.megabytes:,} MB: AISWE_IMPORT_MB is the limit."
            time.sleep(pause)
            pause = min(0.5, pause * 2)
        return ""


def _read(file: IO[bytes], size: int) -> str:
    file.seek(0, os.SEEK_END)
    end = file.tell()
    file.seek(max(0, end + size) if size < 0 else 0)
    return file.read(abs(size)).decode("utf-8", "surrogateescape")


def _size(folder: Path) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(above, name)).st_size
    return total


@functools.cache
def _messages() -> list[dict[str, str]]:
    found: list[dict[str, str]] = tomllib.loads(Path(__file__).with_name("git_messages.toml").read_text())["message"]
    return found


def _in_words(said: str) -> str:
    """What git's last words mean for a person; of the words themselves only what names no credential."""
    known = next((one["means"] for one in _messages() if re.search(one["pattern"], said)), "")
    last = " ".join(line for line in said.splitlines() if line.startswith(("fatal:", "error:")))[-300:]
    return known or f"git refused: {redact(last) or 'it gave no reason'}"
