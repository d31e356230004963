"""A forge's deliveries against the real server: forged, replayed, and very many at once."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.server import Site

pytestmark = pytest.mark.slow
MANY = int(os.environ.get("WEBHOOK_DELIVERIES", "500"))  # 10,000 take a minute or two
BODY = json.dumps(
    {"action": "created", "issue": {"number": 7}, "repository": {"full_name": "ada/shop"}, "padding": "x" * 2_000}
).encode()


@pytest.fixture(scope="module")
def hook(site: Site) -> dict[str, Any]:
    return site.do("forge")


def signed(hook: dict[str, Any], ident: str, body: bytes = BODY, **changes: str) -> dict[str, str]:
    mark = hmac.new(hook["secret"].encode(), body, hashlib.sha256).hexdigest()
    named = {"X-Hub-Signature-256": f"sha256={mark}", "X-GitHub-Delivery": ident, "X-GitHub-Event": "issue_comment"}
    return {**named, "Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in changes.items()}}


def post(site: Site, path: str, headers: dict[str, str], body: bytes = BODY) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=120)
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_the_forge_gets_in_and_an_address_that_was_made_up_says_nothing(site: Site, hook: dict[str, Any]) -> None:
    path = hook["hook"]
    wrong = {"X-Hub-Signature-256": "sha256=" + "0" * 64}
    asked = [
        (202, path, signed(hook, "one"), BODY),
        (202, path, signed(hook, "one"), BODY),  # again
        (409, path, signed(hook, "one", b"{}"), b"{}"),  # another body under its name
        (401, path, signed(hook, "two") | wrong, BODY),
        (401, path, {}, BODY),
        (401, path, signed(hook, "two"), BODY + b" "),
        (400, path, signed(hook, "two", b"[]"), b"[]"),
        (413, path, signed(hook, "two", big := b" " * 3_000_001), big),
        (404, path[:-1] + "?", signed(hook, "two"), BODY),
        (404, path.replace("forge/1", "forge/2"), signed(hook, "two"), BODY),
        (404, "/hooks/forge/1", signed(hook, "two"), BODY),
    ]
    for status, place, headers, body in asked:
        assert post(site, place, headers, body) == status
    assert site.do("deliveries") == {"rows": 1, "idents": 1, "waiting": 1, "jobs": 1}


@pytest.mark.timeout(180 if MANY <= 1000 else 1_800)
def test_very_many_at_once_are_each_kept_once_and_make_one_job(site: Site, hook: dict[str, Any]) -> None:
    """Half of them under one name, half each under its own, all about one pull request."""
    idents = ["same" if number % 2 else f"d-{number}" for number in range(MANY)]
    head = {ident: signed(hook, ident) for ident in set(idents)}

    def send(part: list[str]) -> Counter[int]:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=120)
        got = Counter[int]()
        for ident in part:
            connection.request("POST", hook["hook"], BODY, head[ident])
            answer = connection.getresponse()
            answer.read()
            got[answer.status] += 1
        connection.close()
        return got

    with ThreadPoolExecutor(16) as pool:
        answers = sum(pool.map(send, [idents[start::16] for start in range(16)]), Counter[int]())
    assert answers == {202: MANY}
    told = site.do("deliveries")
    assert (told["rows"], told["idents"], told["waiting"]) == (MANY // 2 + 1, MANY // 2 + 1, MANY // 2 + 1)
    assert told["jobs"] <= 16  # of those that came in the same moment; one when none did
