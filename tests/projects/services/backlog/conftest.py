"""The project of these tests."""

import pytest

from projects.models import Project
from tests.factories import make_project


@pytest.fixture
def project() -> Project:
    return make_project("Clinic")
