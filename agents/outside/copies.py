"""What lies in a workspace after another agent worked there: what of it is taken, and copies between sandboxes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.outside.policy import MOST_BYTES, MOST_FILES, Reach, Ruling, is_left_behind, may_write
from agents.workspace.inside import LeavesFolder, write_inside
from sandbox.base import ListedFile, Sandbox, SandboxError

AT_ONCE = 32 * 1024 * 1024  # bytes read back in one request
MOST_COPIED = 200 * 1024 * 1024


@dataclass
class AgentWork:
    """What an agent changed: texts that are taken, and what was put back by path with the reason."""

    files: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # files that the task itself had made
    refused: dict[str, Ruling] = field(default_factory=dict)


def work_of(sandbox: Sandbox, before: Mapping[str, bytes], reach: Reach) -> AgentWork:
    """Compare the workspace with the files that the agent was given. Raises SandboxError."""
    listed, work = sandbox.listing(), AgentWork()
    changed = list[str]()
    for path, found in sorted(listed.items()):
        known = before.get(path)
        if known is None and is_left_behind(path):
            continue
        if found.regular and known is not None and hashlib.sha256(known).hexdigest() == found.sha256:
            continue
        ruling = _ruling(path, found, known is not None, reach)
        if len(changed) >= MOST_FILES and ruling.decision == "allow":
            ruling = Ruling("refuse", "outside.many", f"More than {MOST_FILES} files were changed at once.")
        if ruling.decision == "allow":
            changed.append(path)
        else:
            work.refused[path] = ruling
    for path in sorted(before.keys() - listed.keys()):
        if path in reach.own:
            work.gone.add(path)
            continue
        kind = "test" if reach.is_test(path) else "gone"
        work.refused[path] = Ruling("refuse", f"outside.{kind}", f"{path} was deleted: a file is not taken away whole.")
    for path, content in _contents(sandbox, changed, listed):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            work.refused[path] = Ruling("refuse", "outside.binary", f"{path} is not text.")
        elif content != before.get(path):
            work.files[path] = text
    return work


def _ruling(path: str, found: ListedFile, known: bool, reach: Reach) -> Ruling:
    if not found.regular:
        return Ruling("refuse", "outside.link", f"{path!r} is a link or no file.")
    ruling = may_write(path, reach)
    if ruling.rule == "outside.test" and not known:
        return Ruling("refuse", "outside.new-test", f"{path} is a test of the agent's own: it is left out.")
    if ruling.decision == "allow" and found.size > MOST_BYTES:
        return Ruling("refuse", "outside.large", f"{path} has {found.size:,} bytes: more than {MOST_BYTES:,}.")
    return ruling


def _contents(sandbox: Sandbox, paths: Iterable[str], listed: Mapping[str, ListedFile]) -> Iterator[tuple[str, bytes]]:
    part, size = list[str](), 0
    for path in paths:
        if part and size + listed[path].size > AT_ONCE:
            yield from sandbox.get(part).items()
            part, size = [], 0
        part, size = [*part, path], size + listed[path].size
    if part:
        yield from sandbox.get(part).items()


@contextmanager
def copied(sandbox: Sandbox) -> Iterator[Path]:
    """The regular files of a workspace in a folder of ours, for as long as it is open. Raises SandboxError."""
    listed = {path: each for path, each in sandbox.listing().items() if each.regular}
    if sum(each.size for each in listed.values()) > MOST_COPIED:
        raise SandboxError(f"the agent's files have more than {MOST_COPIED >> 20} MB")
    with TemporaryDirectory(prefix="aiswe-agent-") as name:
        folder = Path(name)
        for path, content in _contents(sandbox, listed, listed):
            try:
                write_inside(folder, path, content, 0o755 if listed[path].program else 0o644)
            except (LeavesFolder, OSError):
                continue  # a name that no folder of ours can hold
        yield folder
