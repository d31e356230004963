"""People find the start page."""

import httpx
import pytest


def test_the_start_page_names_the_site(base_url: str) -> None:
    answer = httpx.get(f"{base_url}/")
    assert answer.status_code == 200
    assert "<h1>__NAME__</h1>" in answer.text


def test_what_is_not_there_answers_404(base_url: str) -> None:
    assert httpx.get(f"{base_url}/no-such-page").status_code == 404


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("name", ["ann", "ann"])
def test_each_test_begins_with_an_empty_database(name: str) -> None:
    from django.contrib.auth.models import User

    User.objects.create(username=name)
    assert User.objects.count() == 1
