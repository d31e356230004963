"""The content security policy of pages, of fragments and of the back office."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
HEADER = "Content-Security-Policy"


def parts(answer: Any) -> dict[str, str]:
    """The policy by directive."""
    rows = (row.strip().partition(" ") for row in answer[HEADER].split(";"))
    return {name: value for name, _, value in rows}


@pytest.fixture
def ada(client: Client, django_user_model: Any) -> Client:
    """An administrator's browser."""
    client.force_login(django_user_model.objects.create_superuser("ada"))
    return client


def test_pages_make_markup_through_named_policies_alone(ada: Client) -> None:
    policy = parts(ada.get("/runs"))
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "htmx aiswe"
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)


def test_every_script_and_every_element_of_htmx_carries_the_nonce_of_its_page(ada: Client) -> None:
    answer = ada.get("/runs")
    nonce = re.search(r"'nonce-([^']+)'", parts(answer)["script-src"])
    assert nonce
    html = answer.content.decode()
    assert set(re.findall(r'hx-nonce="([^"]*)"', html)) == {nonce[1]}
    assert len(re.findall(r"<[^>]* hx-(?:get|post)=", html)) == html.count("hx-nonce=")
    part = ada.get("/runs", headers={"HX-Request": "true"})
    own = re.search(r"'nonce-([^']+)'", parts(part)["script-src"])
    assert own
    assert own[1] != nonce[1]
    assert f'hx-nonce="{own[1]}"' in part.content.decode()


def test_the_back_office_has_the_rest_of_the_policy(ada: Client) -> None:
    policy = parts(ada.get("/admin/"))
    assert not {"require-trusted-types-for", "trusted-types"} & set(policy)
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)


def test_strangers_and_errors_are_under_it_too(client: Client) -> None:
    for path in ("/sign-in", "/setup", "/nowhere", "/alive"):
        assert "require-trusted-types-for" in parts(client.get(path)), path
