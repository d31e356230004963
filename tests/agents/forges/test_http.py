"""The forge's host is checked, its limits and refusals are sentences, and no text holds the token."""

import pytest

from agents.forges.addresses import forge_address
from agents.forges.contract import ForgeRefused
from agents.forges.opening import open_forge
from agents.workspace.fetching import NOBODY, RemoteAccess
from tests.agents.forges.conftest import ACCESS
from tests.agents.workspace.git_server import TOKEN
from tests.forge_server import ServedForge, ServedRepository
from tests.tables import each_row

only_one = pytest.mark.parametrize("served", ["forgejo"], indirect=True)


@only_one
@pytest.mark.parametrize(
    ("status", "headers", "means", "wait"),
    [
        (429, {"Retry-After": "600"}, "try again in 10 min", 600),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}, "limits how often", 1),
        (401, {}, "refuses the credential: check AISWE_GIT_TOKENS", None),
        (403, {}, "may not do that", None),
        (503, {}, "try again later", 60),
        (302, {"Location": "https://elsewhere.example/x"}, "another host, elsewhere.example: not followed", None),
        (302, {"Location": "http://localhost/x"}, "another host, localhost: not followed", None),
        (200, {}, "shape that its documents do not have", None),
    ],
)
def test_what_a_forge_answers_is_said_without_the_token(
    served: ServedForge, shop: ServedRepository, status: int, headers: dict[str, str], means: str, wait: float | None
) -> None:
    forge = open_forge(forge_address(served.web(shop.path), ACCESS, "forgejo"), ACCESS)
    served.forced.append((status, headers, {"message": f"said {TOKEN}"}))
    with pytest.raises(ForgeRefused) as refused:
        forge.repository()
    assert means in str(refused.value)
    assert TOKEN not in str(refused.value)
    assert refused.value.wait == wait


@only_one
def test_a_private_host_a_missing_token_and_an_unknown_certificate_are_refused(
    served: ServedForge, shop: ServedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = forge_address(served.web(shop.path), ACCESS)
    calls = len(served.calls)
    for access, means in (
        (RemoteAccess([], {"localhost": TOKEN}), "AISWE_GIT_HOSTS"),
        (RemoteAccess(["localhost"]), "no token for localhost"),
    ):
        with pytest.raises(ForgeRefused, match=means):
            open_forge(place, access).repository()
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ForgeRefused, match="certificate is not trusted"):
        open_forge(place, ACCESS).repository()
    assert len(served.calls) == calls


def test_the_kind_is_asked_of_the_server(served: ServedForge) -> None:
    assert forge_address(f"{served.address}/acme/shop.git", ACCESS).kind == served.kind


@each_row(
    ("text", "kind", "path", "number", "about"),
    [
        ("https://github.com/acme/shop.git", "github", "acme/shop", None, None),
        ("git@github.com:acme/shop.git", "github", "acme/shop", None, None),
        ("https://github.com/acme/shop/pull/12/files?diff=split#x", "github", "acme/shop", 12, "request"),
        ("https://codeberg.org/acme/shop/issues/3", "forgejo", "acme/shop", 3, "issue"),
        ("https://gitlab.com/a/b/shop/-/merge_requests/4", "gitlab", "a/b/shop", 4, "request"),
        ("https://gitlab.com/a/b/shop/-/work_items/5", "gitlab", "a/b/shop", 5, "issue"),
    ],
)
def test_addresses_are_read_as_people_paste_them(
    text: str, kind: str, path: str, number: int | None, about: str | None
) -> None:
    found = forge_address(text, NOBODY)
    assert (found.kind, found.path, found.number, found.about) == (kind, path, number, about)


@pytest.mark.parametrize("text", ["https://github.com/acme", "https://me:x@github.com/a/b", "http://github.com/a/b"])
def test_an_address_of_no_repository_is_refused(text: str) -> None:
    with pytest.raises(ForgeRefused):
        forge_address(text, NOBODY)
