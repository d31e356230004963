import pytest
from django.contrib import admin
from django.urls import reverse

from projects.models import Event, Project
from tests.factories import make_task, make_user
from tests.rows import emit, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(client):
    client.force_login(make_user(superuser=True))
    return client


def test_the_audit_trail_can_be_read_but_not_changed(office):
    task = make_task(status="ready")
    event = emit(task.run_id, "cmd", summary="ls -la", task_id=task.pk)
    assert b"ls -la" in office.get(reverse("admin:projects_event_changelist")).content
    page = reverse("admin:projects_event_change", args=[event.pk])
    assert office.get(page).status_code == 200
    assert office.post(page, {"summary": "rm"}).status_code == 403
    assert office.post(reverse("admin:projects_event_delete", args=[event.pk]), {"post": "yes"}).status_code == 403
    assert office.get(reverse("admin:projects_event_add")).status_code == 403
    assert Event.objects.get(pk=event.pk).summary == "ls -la"


@each_row("model", [model for model in admin.site._registry if model._meta.app_label == "projects"], ids=str)
@undone()
def test_every_page_of_the_back_office_opens(office, model):
    make_task(status="ready")
    assert office.get(reverse(f"admin:projects_{model._meta.model_name}_changelist")).status_code == 200
    row = model._default_manager.first()
    if row is not None:
        page = reverse(f"admin:projects_{model._meta.model_name}_change", args=[row.pk])
        assert office.get(page).status_code == 200


def test_a_project_cannot_be_deleted_here(office):
    task = make_task()
    page = reverse("admin:projects_project_delete", args=[task.run.project_id])
    assert office.post(page, {"post": "yes"}).status_code == 403
    assert Project.objects.filter(pk=task.run.project_id).exists()


def test_people_and_groups_are_managed_here(office):
    assert office.get(reverse("admin:auth_user_changelist")).status_code == 200
    assert office.get(reverse("admin:auth_group_changelist")).status_code == 200


def test_a_member_without_staff_rights_does_not_get_in(client):
    client.force_login(make_user())
    assert client.get(reverse("admin:projects_event_changelist")).status_code == 302
