"""The bill of materials of a project: every package that its dependency files name."""

from __future__ import annotations

import time

from agents.gates.advisories import AdvisoryError
from agents.gates.advisory_sources import look_up
from agents.gates.bill import BillEntry, bill_of_materials
from agents.gates.pins import Dependencies, is_dependency_file, read_dependencies
from projects.errors import BadInput
from projects.models import Project
from projects.services.delivery.downloads import Download, commit_of
from projects.storage.packages import gate_policy
from projects.storage.paths import repository_of
from sandbox.base import SandboxError

_LOOK_SECONDS = 30.0  # for licences that no file states; without an answer the bill leaves them out


def bill_file(project: Project, revision: str = "") -> Download:
    """The bill as a download; nobody waits for an index. Raises NotFound and BadInput."""
    text = bill_of(project, revision, seconds=0)
    return Download(f"{project.slug}.cdx.json", "application/vnd.cyclonedx+json", iter([text.encode()]))


def bill_of(project: Project, revision: str = "", seconds: float = _LOOK_SECONDS) -> str:
    """The bill of a commit in CycloneDX; of the base branch by default. Indexes are asked for so many seconds.

    Raises NotFound while there is no code, and BadInput for a broken dependency file.
    """
    commit, repository = commit_of(project, revision), repository_of(project)
    found = Dependencies()
    for path in repository.files(commit):
        if not path.endswith((".txt", ".in")) and not is_dependency_file(path):
            continue
        data = (repository.read(commit, path) or "").encode()
        try:
            read = read_dependencies(path, data) if is_dependency_file(path, data) else Dependencies()
        except ValueError:
            raise BadInput(f"{path} cannot be read: it is not valid JSON or TOML.") from None
        found.pins += read.pins
        found.loose += read.loose + read.elsewhere
    try:
        known = look_up(found.pins, gate_policy(), time.monotonic() + seconds, licences=True)
    except (AdvisoryError, SandboxError):
        known = {}
    parts = [
        BillEntry(pin.ecosystem, pin.name, pin.version, known[pin].licence if pin in known else pin.licence)
        for pin in found.pins
    ]
    pinned = {pin.name.lower() for pin in found.pins}
    parts += [BillEntry(one.ecosystem, one.name) for one in found.loose if one.name and one.name.lower() not in pinned]
    return bill_of_materials(project.slug, commit, parts)
