"""Giving and taking roles on the project page."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Project, SiteEvent
from tests.factories import make_project, make_user
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(client: Client) -> Project:
    """A project whose manager is signed in."""
    project = make_project("Ledger", by=make_user("ada"))
    client.force_login(project.created_by)
    return project


def take(client: Client, project: Project, **data: Any) -> Any:
    return client.post(reverse("project-member-remove", args=[project.pk]), data)


def test_a_role_is_taken_and_noted(project: Project, client: Client) -> None:
    vera = make_user("vera", role="viewer", project=project)
    assert "Take viewer from vera" in client.get(reverse("project", args=[project.pk])).content.decode()
    assert take(client, project, user=vera.pk, role="viewer")["Location"] == reverse("project", args=[project.pk])
    assert not project.memberships.filter(user=vera).exists()
    row = SiteEvent.objects.get(action="role.taken")
    assert (row.actor, row.subject, row.detail) == ("ada", "vera", {"project": "ledger", "role": "viewer"})


def test_the_last_manager_stays(project: Project, client: Client) -> None:
    answer = take(client, project, user=project.created_by_id, role="manager")
    assert answer.status_code == 422
    assert "needs a manager" in answer.content.decode()


def test_who_leaves_by_their_own_hand_is_led_out(project: Project, client: Client) -> None:
    other = make_user("bob", role="manager", project=project)
    client.force_login(other)
    assert take(client, project, user=other.pk, role="manager")["Location"] == "/"


@pytest.mark.parametrize("role", ["", "\x00", "root", "viewer "])
def test_a_role_that_does_not_exist_is_held_by_nobody(project: Project, client: Client, role: str) -> None:
    assert take(client, project, user=project.created_by_id, role=role).status_code == 422


@each_row("person", ["", "x", "-1", "９", "9" * 30, "999999"])
def test_a_person_who_is_not_in_it_is_named_nowhere(project: Project, client: Client, person: str) -> None:
    assert take(client, project, user=person, role="viewer").status_code == 422
    assert project.memberships.count() == 3
