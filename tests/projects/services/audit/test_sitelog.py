"""What belongs to no run is on a chain of its own."""

import json
from itertools import pairwise

import pytest

from projects.models import SiteEvent
from projects.services.audit.canonical import GENESIS
from projects.services.audit.hashing import event_hash
from projects.services.audit.sitelog import note
from tests.factories import make_user
from tests.projects.threads import at_once

pytestmark = pytest.mark.django_db


def test_rows_are_numbered_from_one_and_each_follows_from_the_last():
    for number in range(4):
        note("anna", "role.given", f"person {number}", {"role": "viewer"})
    rows = list(SiteEvent.objects.order_by("seq"))
    assert [row.seq for row in rows] == [1, 2, 3, 4]
    assert [row.prev_hash for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]
    assert all(event_hash(row) == row.hash for row in rows)


def test_a_user_is_written_by_name_and_nobody_as_nobody():
    user = make_user("carla")
    assert note(user, "session.started").actor == "carla"
    assert note(None, "session.refused", "somebody", outcome="fail").actor == ""


def test_secrets_are_taken_out_before_anything_is_hashed():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    note("anna", "setting.changed", token, {"value": token})
    row = SiteEvent.objects.get()
    assert token not in json.dumps([row.subject, row.detail])
    assert event_hash(row) == row.hash


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once_leave_no_gap():
    def write() -> None:
        for number in range(5):
            note("anna", "token.used", str(number))

    assert at_once([write] * 6) == [None] * 6
    rows = list(SiteEvent.objects.order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, 31))
    assert all(after.prev_hash == before.hash for before, after in pairwise(rows))
