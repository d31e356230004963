"""A home and an administrator for tests of operations; what they start ends with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.engine.operations import hosts


@pytest.fixture
def anna(settings: Any, tmp_path: Path, db: None) -> Iterator[User]:
    settings.AISWE_HOME, settings.SANDBOX_BACKEND = tmp_path / "home", "bubblewrap"
    yield User.objects.create_superuser("anna")
    hosts.close()
