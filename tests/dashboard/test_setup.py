"""The page that makes the first administrator: there while nobody can sign in, and only then."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
FORM = {"username": "ada", "password": "a long passphrase", "again": "a long passphrase"}


def test_users_of_commands_and_of_the_demo_do_not_hide_it(client: Client, django_user_model: Any) -> None:
    for name in ("operator", "demo-architect"):
        django_user_model.objects.create_user(name)
    assert client.get("/sign-in")["Location"] == "/setup"
    assert client.get("/setup").status_code == 200
    assert client.post("/setup", FORM)["Location"] == "/"
    assert django_user_model.objects.get(username="ada").is_superuser


def test_a_name_that_is_taken_is_refused_on_the_page(client: Client, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ada")
    answer = client.post("/setup", FORM)
    assert answer.status_code == 422
    assert "already exists" in answer.content.decode()


def test_it_is_gone_once_somebody_can_sign_in(client: Client, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ada", password="a long passphrase")
    assert client.get("/setup").status_code == 404
    assert client.post("/setup", FORM).status_code == 404
    assert client.get("/sign-in").status_code == 200
