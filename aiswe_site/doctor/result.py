"""One check's answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from projects.services.installation.health import HealthCheck


class CheckResult(HealthCheck):
    """`blocks` names what a red check stands in the way of.

    `needed` is False for what the product can do without: a red one does not make the doctor's exit code 1.
    """

    blocks: str
    needed: bool


@dataclass(frozen=True)
class CheckVerdict:
    """What a check found."""

    ok: bool | None
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class DoctorCheck:
    """A question with a name; `look` answers it without changing anything."""

    name: str
    look: Callable[[], CheckVerdict]
    blocks: str
    needed: bool = True

    def run(self) -> CheckResult:
        """Look, and never raise: a check that fails to look is red and says why."""
        started = time.monotonic()
        try:
            verdict = self.look()
        except Exception as error:  # noqa: BLE001  whatever stops a check is its finding
            verdict = CheckVerdict(False, f"The check itself failed: {type(error).__name__}: {error}", "Report this.")
        return CheckResult(
            name=self.name,
            ok=verdict.ok,
            detail=verdict.detail,
            hint="" if verdict.ok else verdict.hint,
            seconds=round(time.monotonic() - started, 3),
            blocks="" if verdict.ok else self.blocks,
            needed=self.needed,
        )
