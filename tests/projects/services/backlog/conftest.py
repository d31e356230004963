"""The project of these tests."""

from __future__ import annotations

import pytest

from projects.models import Project
from tests.factories import make_project


@pytest.fixture
def project() -> Project:
    return make_project("Clinic")
