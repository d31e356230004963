"""How a project's tests are run, as its newest baseline found out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from projects.models import Baseline, Project
from sandbox.test_setup import TestSetup

_SETUP = TypeAdapter(TestSetup)
_KEPT_APART = {"known_failures", "known_messages", "flickering", "passing", "configuration_text", "measured_seconds"}


def test_setup_of(project: Project) -> TestSetup:
    """How the project's tests are run: as its newest usable baseline says, with the failures that it found."""
    found = Baseline.usable(project)
    if found is None:
        return TestSetup()
    return replace(
        setup_from(found.setup),
        measured_seconds=found.seconds,
        known_failures=frozenset(found.tests.get("failing", {})),
        known_messages=dict(found.tests.get("failing", {})),
        flickering=frozenset(found.tests.get("flickering", [])),
        passing=frozenset(json.loads(zlib.decompress(found.passing)) if found.passing else ()),
    )


def packages_of(project: Project) -> list[str]:
    """Requirement lines that every run of the project's tests needs."""
    found = Baseline.usable(project)
    return list(found.packages) if found else []


def setup_from(data: Mapping[str, Any]) -> TestSetup:
    """A setup from plain data, as setup_to_json() made it; what is not named is as by default."""
    return _SETUP.validate_python(data)


def setup_to_json(setup: TestSetup) -> dict[str, Any]:
    """A setup as plain data, without results, which the baseline keeps beside it, and without texts of the base."""
    data: dict[str, Any] = _SETUP.dump_python(setup, mode="json", exclude=_KEPT_APART)
    return data
