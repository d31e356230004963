"""The choice of a project's sandbox on its page."""

import pytest
from django.urls import reverse

from tests.factories import make_project, owner_of
from tests.rows import fresh

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("asked", "kept"), [("bubblewrap", "bubblewrap"), ("docker", "docker"), ("none at all", "auto")]
)
def test_a_project_keeps_the_sandbox_it_was_given_if_there_is_one(client, asked, kept):
    project = make_project()
    client.force_login(owner_of(project))
    page = reverse("project", args=[project.pk])
    form = {"max_retries": "5", "autonomy": project.autonomy, "sandbox_backend": asked}
    client.post(reverse("project-settings", args=[project.pk]), form)
    assert fresh(project).sandbox_backend == kept
    assert f'<option value="{kept}" selected>' in client.get(page).content.decode()
