"""Packages for a project: the allow-list, and what people approved for this project."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from projects.engine.places import home
from projects.models import Approval, Project
from sandbox.base import PackageSet
from sandbox.packages import PackageSupply, Verdict

_lock = threading.Lock()
_fetched: dict[tuple[str, ...], PackageSet] = {}


class ProjectSupply:
    """Implements agents.ports.Supply; one fetch of the same packages serves all tasks of the process."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def _approved(self) -> list[str]:
        rows = Approval.objects.filter(
            project=self._project, kind=Approval.Kind.PACKAGE, status=Approval.Status.APPROVED
        )
        return list(rows.values_list("subject", flat=True))

    def check(self, requirement: str) -> Verdict:
        return PackageSupply(home() / "packages").check(requirement)

    def fetch(self, requirements: Sequence[str]) -> PackageSet:
        approved = self._approved()
        key = (*sorted(requirements), "|", *sorted(approved))
        with _lock:
            known = _fetched.get(key)
            if known is None or not known.folder.exists():
                known = PackageSupply(home() / "packages", approved=approved).fetch(requirements)
                _fetched[key] = known
            return known
