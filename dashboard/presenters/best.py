"""The best attempt of a task that was handed to a person: its files, to read and to take away."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

from projects.models import Blob, Event, Task
from projects.services.audit.vocabulary import ErrorRaised

PREFIX = "best:"
MOST = 100  # files
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True)
class BestFile:
    """One file as it was in the best try; secrets were taken out when it was stored."""

    path: str
    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @property
    def is_test(self) -> bool:
        """Whether it belongs to the tests, which the coder cannot change."""
        name = PurePosixPath(self.path).name
        return "tests" in PurePosixPath(self.path).parts or name.startswith("test_")


@dataclass(frozen=True)
class Best:
    """The event it is attached to, and its files, code first."""

    event: Event
    files: list[BestFile]


def best_of(task: Task) -> Best | None:
    """What is attached to the newest escalation of a task that is still escalated; None if nothing was kept."""
    if not task.escalation:
        return None
    event = Event.objects.filter(task=task, type=ErrorRaised.type, outcome="escalated").order_by("-seq").first()
    if event is None:
        return None
    named = {name.removeprefix(PREFIX): str(sha) for name, sha in event.blobs.items() if name.startswith(PREFIX)}
    stored = Blob.objects.in_bulk(list(named.values()))
    files = [BestFile(path, stored[sha].content) for path, sha in list(named.items())[:MOST] if sha in stored]
    return Best(event, sorted(files, key=lambda file: (file.is_test, file.path))) if files else None


def safe_name(path: str) -> str:
    """A file's own name as a download may have it."""
    return _ODD.sub("_", PurePosixPath(path.replace("\\", "/")).name).strip("._")[:100] or "file"


def packed(best: Best) -> bytes:
    """The files as a zip. A path that would leave the folder it is unpacked in is made one that stays."""
    buffer = io.BytesIO()
    moment = best.event.at.timetuple()[:6]
    taken: set[str] = set()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, file in enumerate(best.files):
            name = _inside(file.path)
            if not name or name in taken:
                name = f"{number}-{safe_name(file.path)}"
            taken.add(name)
            archive.writestr(zipfile.ZipInfo(name, max(moment, (1980, 1, 1, 0, 0, 0))), file.text)
    return buffer.getvalue()


def _inside(path: str) -> str:
    parts = PurePosixPath(_DRIVE.sub("", path.replace("\\", "/"))).parts
    return "/".join(part for part in parts if part not in ("/", "//", "..", ".") and "\x00" not in part)[:300]
