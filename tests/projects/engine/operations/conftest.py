"""A home and an administrator for tests of operations; what they start ends with them."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from projects.engine.operations import hosts


@pytest.fixture
def anna(anna: User) -> Iterator[User]:
    yield anna
    hosts.close()
