"""Where requests to a release go."""

from __future__ import annotations

import ssl

import pytest

from sandbox.hosting.base import Address, HostingError
from tests.tables import each_row

PROXY = Address(url="https://cluster.example:6443/api/v1/namespaces/staging/services/app-1-1:http/proxy")


@each_row(
    "path",
    [
        "/../../../secrets",
        "/a/..",
        "/%2e%2E/x",
        "/%252e%252e/x",
        "/a%2f..%2fb",
        "/..\\x",
        "x",
        "",
        "//..",
        "@evil.example/",
        "/api/v1/namespaces/staging/services/app-1-1:http/proxy/../x",
    ],
)
def test_no_path_leads_to_other_routes_of_the_server(path: str) -> None:
    with pytest.raises(HostingError, match=r"no \"..\""):
        PROXY.to(path)


@each_row(
    ("path", "found"),
    [
        ("/", "/"),
        ("/a..b/...?q=../..", "/a..b/...?q=../.."),
        ("//x", "//x"),
        ("/api/v1/namespaces/staging/services/app-1-1:http/proxy/items?x=1", "/items?x=1"),
        ("/api/v1/namespaces/staging/services/app-1-1:http/proxy", "/"),
        ("/api/v1/namespaces/staging/services/app-1-1:http/proxy?x=1", "/?x=1"),
        (
            "/api/v1/namespaces/staging/services/app-1-1:http/proxyhouse",
            "/api/v1/namespaces/staging/services/app-1-1:http/proxyhouse",
        ),
    ],
)
def test_a_link_that_the_server_changed_leads_back_to_the_release(path: str, found: str) -> None:
    assert PROXY.to(path) == PROXY.url + found


def test_behind_a_socket_any_host_will_do() -> None:
    assert Address(socket="/run/app").to("/x?y") == "http://app/x?y"


def test_where_nothing_is_encrypted_no_authority_is_loaded() -> None:
    assert Address(socket="/run/app").tls().cert_store_stats()["x509_ca"] == 0
    assert Address(url="https://cluster.example").tls().verify_mode == ssl.CERT_REQUIRED
