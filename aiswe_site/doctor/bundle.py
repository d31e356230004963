"""A file for whoever helps: what the doctor found, settings, versions, counts and the end of the logs. No contents."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import DatabaseError
from django.db.models import Count

from agents.secrets.redaction import redact
from aiswe_site import VERSION
from aiswe_site.doctor.result import CheckResult
from aiswe_site.startup import configuration
from aiswe_site.startup.home import Home

MOST_LOG = 400_000  # bytes of each file, from its end
MOST_LOGS = 10
# Tables whose rows are counted by state. Nothing of what is in them is told.
COUNTED = ("Project", "RequirementDocument", "Plan", "Run", "Task", "Approval", "Deployment", "Incident")
ABOUT = """What this file holds: the results of `aiswe doctor`, settings with their sources (secrets are left out),
versions, how many rows there are by state, and the end of the logs. Secrets that are known or look like one are
replaced. It holds no document, code, prompt, reply or name of a person, but logs may name projects, paths and
addresses: read it before you send it.
"""


def write_bundle(place: Path, found: Sequence[CheckResult]) -> list[str]:
    """Write the file, readable by its owner alone, and return the names of what is in it.

    Raises FileExistsError, and OSError for a place that cannot be written.
    """
    parts = {
        "README.txt": ABOUT,
        "doctor.json": _json(list(found)),
        "settings.json": _json([row.shown_value() for row in configuration.rows()]),
        "machine.json": _json(_machine()),
        "versions.json": _json(_versions()),
        "counts.json": _json(_counts()),
        **_logs(Home.from_environment().logs),
    }
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in parts.items():
            bundle.writestr(name, str(redact(text)))
    return list(parts)


def _json(data: Any) -> str:
    return json.dumps(redact(json.loads(json.dumps(data, default=str))), indent=2, ensure_ascii=False) + "\n"


def _machine() -> dict[str, Any]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "aiswe": VERSION,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_gb": round(pages / 1e9, 1),
        "load": os.getloadavg(),
    }


def _versions() -> dict[str, str]:
    return {found.metadata["Name"]: found.version for found in importlib.metadata.distributions()}


def _counts() -> dict[str, Any]:
    """Rows by state; why, for a table that cannot be read."""
    counted: dict[str, Any] = {}
    for name in COUNTED:
        model = apps.get_model("projects", name)
        names = {field.name for field in model._meta.get_fields()}
        try:
            if "status" in names:
                rows = model._default_manager.order_by().values_list("status").annotate(number=Count("pk"))
                counted[name] = dict(rows)
            else:
                counted[name] = model._default_manager.count()
        except DatabaseError as error:
            counted[name] = f"cannot be read: {type(error).__name__}"
    return counted


def _logs(folder: Path) -> dict[str, str]:
    found = {}
    files = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime, reverse=True) if folder.is_dir() else []
    for path in files[:MOST_LOGS]:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - MOST_LOG))
            found[f"logs/{path.name}"] = file.read().decode("utf-8", "replace")
    return found
