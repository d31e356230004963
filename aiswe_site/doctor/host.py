"""The machine."""

from __future__ import annotations

import shutil
import sys

from django.conf import settings

from aiswe_site.doctor.result import CheckVerdict

ENOUGH_GB = 2.0


def python() -> CheckVerdict:
    """A Python that the product runs on."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return CheckVerdict(
        sys.version_info >= (3, 11),
        f"Python {version} ({sys.executable})",
        "Install Python 3.11 or newer: make install",
    )


def disk() -> CheckVerdict:
    """Room for repositories, worktrees and the audit trail."""
    free = shutil.disk_usage(settings.AISWE_HOME).free / 1e9
    return CheckVerdict(
        free >= ENOUGH_GB,
        f"{free:.1f} GB free for {settings.AISWE_HOME}; {ENOUGH_GB:.0f} GB are required",
        "Free some space, or set AISWE_HOME to a folder on a larger disk.",
    )
