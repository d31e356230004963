"""Room on the disk: work ends while there is still enough left to write down that it did."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from projects.errors import ProjectsError
from projects.storage.paths import home


class NoRoom(ProjectsError):
    """Less is free than must be kept for the audit trail; the text names the folder and the way out."""


def need_room() -> None:
    """Raise NoRoom when less than `AISWE_DISK_RESERVE_MB` is free where the product keeps its data."""
    there = next(folder for folder in (home(), *home().absolute().parents) if folder.exists())
    free, reserve = shutil.disk_usage(there).free // 2**20, int(settings.DISK_RESERVE_MB)
    if free < reserve:
        raise NoRoom(
            f"{free:,} MB are free for {home()}, and {reserve:,} MB are kept for the audit trail: free some space, or "
            "set AISWE_DISK_RESERVE_MB"
        )


def size_of(place: Path) -> int:
    """Bytes of a file, or of all files in a folder; what vanishes meanwhile counts nothing."""
    total = 0
    for one in place.rglob("*") if place.is_dir() else [place]:
        with suppress(OSError):
            total += one.stat().st_size if one.is_file() else 0
    return total
