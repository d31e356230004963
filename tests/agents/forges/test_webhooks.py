"""Deliveries of forges: whose signature holds, and what they are about."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.forges.contract import Delivery, Forge, Kind
from agents.forges.webhooks import UnreadableDelivery, WrongSignature, check, read
from tests.forge_server import ServedForge, ServedRepository
from tests.forge_server.shapes import hook_problems, smallest_hook
from tests.tables import each_row

SECRET, NOW, SHA = "a secret of the hook", 1_800_000_000.0, "a" * 40
KINDS: tuple[Kind, ...] = ("github", "forgejo", "gitlab")


def signed(kind: Kind, body: bytes, event: str = "issue_comment", secret: str = SECRET) -> dict[str, str]:
    """The headers as that forge sends them, in lower case."""
    mark = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "github": {"x-hub-signature-256": f"sha256={mark}", "x-github-delivery": "d-1", "x-github-event": event},
        "forgejo": {"x-forgejo-signature": mark, "x-forgejo-delivery": "d-1", "x-forgejo-event": event},
        "gitlab": {"x-gitlab-token": secret, "idempotency-key": "d-1", "x-gitlab-event": "Note Hook"},
    }[kind]


def told(kind: Kind, data: Any, event: str = "issue_comment") -> Delivery:
    body = json.dumps(data).encode()
    return read(kind, signed(kind, body, event), body, SECRET, now=NOW)


def standard(body: bytes, moment: float = NOW, secret: str = SECRET, ident: str = "d-9") -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    mark = hmac.new(key, f"{ident}.{int(moment)}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": ident,
        "webhook-timestamp": str(int(moment)),
        "webhook-signature": f"v1,AAAA v1,{base64.b64encode(mark).decode()}",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_only_who_knows_the_secret_is_believed(kind: Kind) -> None:
    check(kind, signed(kind, b"{}"), b"{}", SECRET, now=NOW)
    wrong = [signed(kind, b"{}", secret="another"), {}, dict.fromkeys(signed(kind, b"{}"), "")]
    wrong += [] if kind == "gitlab" else [signed(kind, b"{ }")]  # its token says nothing about the body
    for headers in wrong:
        with pytest.raises(WrongSignature):
            check(kind, headers, b"{}", SECRET, now=NOW)
    with pytest.raises(WrongSignature, match="no secret"):
        check(kind, signed(kind, b"{}", secret=""), b"{}", "", now=NOW)


def test_a_wrong_signature_is_not_made_good_by_an_older_header() -> None:
    good = signed("forgejo", b"{}")["x-forgejo-signature"]
    check("forgejo", {"x-gitea-signature": good}, b"{}", SECRET, now=NOW)
    for headers in ({"x-forgejo-signature": "0" * 64, "x-gitea-signature": good},):
        with pytest.raises(WrongSignature):
            check("forgejo", headers, b"{}", SECRET, now=NOW)
    with pytest.raises(WrongSignature):
        check("gitlab", {"webhook-signature": "v1,AAAA", "x-gitlab-token": SECRET}, b"{}", SECRET, now=NOW)


@pytest.mark.parametrize("secret", [SECRET, "whsec_" + base64.b64encode(b"k" * 32).decode()])
def test_a_signature_with_a_time_holds_for_five_minutes(secret: str) -> None:
    check("gitlab", standard(b"{}", secret=secret), b"{}", secret, now=NOW + 299)
    for late in (NOW + 301, NOW - 301):
        with pytest.raises(WrongSignature):
            check("gitlab", standard(b"{}", secret=secret), b"{}", secret, now=late)
    for change in ({"webhook-id": "d-8"}, {"webhook-timestamp": str(int(NOW) + 1)}, {"webhook-timestamp": "٣"}):
        with pytest.raises(WrongSignature):
            check("gitlab", standard(b"{}", secret=secret) | change, b"{}", secret, now=NOW)


REPO = {"repository": {"full_name": "ada/shop"}}
LAB = {"project": {"path_with_namespace": "ada/shop"}}
RUN = {"id": 77, "head_sha": SHA, "conclusion": "failure", "pull_requests": [{"number": 7}]}


@each_row(
    ("kind", "event", "data", "wanted"),
    [
        ("github", "issue_comment", {"action": "created", "issue": {"number": 7}}, ("comment", 7, "", "created", "")),
        ("github", "pull_request_review", {"pull_request": {"number": 7}}, ("review", 7, "", "", "")),
        ("github", "pull_request_review_comment", {"pull_request": {"number": 7}}, ("review", 7, "", "", "")),
        (
            *("github", "pull_request"),
            {"action": "closed", "number": 7, "pull_request": {"number": 7, "head": {"sha": SHA}}},
            ("request", 7, SHA, "closed", ""),
        ),
        ("github", "issues", {"action": "opened", "issue": {"number": 3}}, ("issue", 3, "", "opened", "")),
        ("github", "push", {"after": SHA}, ("push", None, SHA, "", "")),
        (
            *("github", "check_run"),
            {"action": "completed", "check_run": {**RUN, "app": {"slug": "github-actions"}}},
            ("build", 7, SHA, "completed", "77"),
        ),
        ("github", "check_run", {"action": "created", "check_run": RUN}, ("status", 7, SHA, "created", "")),
        (
            *("github", "workflow_run"),
            {"action": "completed", "workflow_run": RUN},
            ("status", 7, SHA, "completed", ""),
        ),
        ("github", "star", {"action": "created"}, ("other", None, "", "created", "")),
        ("forgejo", "issue_comment", {"action": "created", "issue": {"number": 7}}, ("comment", 7, "", "created", "")),
        ("forgejo", "pull_request_comment", {"number": 7}, ("review", 7, "", "", "")),
        ("forgejo", "pull_request", {"action": "opened", "number": 7}, ("request", 7, "", "opened", "")),
        ("gitlab", "", {"object_kind": "note", "merge_request": {"iid": 7}}, ("comment", 7, "", "", "")),
        (
            *("gitlab", ""),
            {"object_kind": "merge_request", "object_attributes": {"iid": 7, "action": "merge"}},
            ("request", 7, "", "merge", ""),
        ),
        (
            *("gitlab", ""),
            {
                "object_kind": "pipeline",
                "object_attributes": {"status": "failed", "sha": SHA},
                "merge_request": {"iid": 7},
                "builds": [{"id": 5, "status": "success"}, {"id": 6, "status": "failed"}],
            },
            ("build", 7, SHA, "failed", "6"),
        ),
        (
            *("gitlab", ""),
            {"object_kind": "build", "build_id": 9, "build_status": "failed", "sha": SHA},
            ("build", None, SHA, "failed", "9"),
        ),
    ],
)
def test_what_happened_is_told_in_our_words(kind: Kind, event: str, data: dict[str, Any], wanted: Any) -> None:
    got = told(kind, {**data, **(LAB if kind == "gitlab" else REPO)}, event)
    assert (got.event, got.number, got.commit, got.action, got.build) == wanted
    assert (got.ident, got.repository) == ("d-1", "ada/shop")


@each_row(
    ("name", "places", "wanted"),
    [
        ("push", {"after": SHA}, ("push", None, SHA, "")),
        ("status", {"sha": SHA}, ("status", None, SHA, "")),
        ("issues-opened", {"issue.number": 7}, ("issue", 7, "", "")),
        ("issue-comment-created", {"issue.number": 7}, ("comment", 7, "", "")),
        *(
            (
                f"pull-request-{action}",
                {"pull_request.number": 7, "pull_request.head.sha": SHA},
                ("request", 7, SHA, ""),
            )
            for action in ("opened", "closed")
        ),
        ("pull-request-synchronize", {"pull_request.number": 7, "after": SHA}, ("request", 7, SHA, "")),
        ("pull-request-review-submitted", {"pull_request.number": 7}, ("review", 7, "", "")),
        ("pull-request-review-comment-created", {"pull_request.number": 7}, ("review", 7, "", "")),
        (
            "workflow-job-completed",
            {"workflow_job.id": 77, "workflow_job.head_sha": SHA, "workflow_job.conclusion": "failure"},
            ("build", None, SHA, "77"),
        ),
    ],
)
def test_what_is_read_of_githubs_webhooks_is_always_in_them(name: str, places: dict[str, Any], wanted: Any) -> None:
    data = smallest_hook(name)
    for place, value in {"repository.full_name": "ada/shop", **places}.items():
        *above, last = place.split(".")
        inner = data
        for word in above:
            inner = inner[word]
        assert last in inner, place
        inner[last] = value
    assert hook_problems(name, data) == []
    action = data.get("action", "")
    event = name.removesuffix(f"-{action}").replace("-", "_")
    got = told("github", data, event)
    assert (got.event, got.number, got.commit, got.build) == wanted
    assert (got.repository, got.action) == ("ada/shop", action)


def test_a_body_that_is_no_object_is_refused_after_its_signature() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    for body in (b"", b"[]", b"null", b"\xff", b"payload=%7B%7D", deep, b'{"n": ' + b"9" * 5_000 + b"}"):
        with pytest.raises(UnreadableDelivery):
            read("github", signed("github", body), body, SECRET, now=NOW)
        with pytest.raises(WrongSignature):
            read("github", signed("github", body, secret="another"), body, SECRET, now=NOW)


def test_a_delivery_without_a_name_is_refused_where_its_forge_names_them() -> None:
    for ident in ("", "two words", "x" * 121, "a\nb"):
        with pytest.raises(UnreadableDelivery, match="x-github-delivery"):
            read("github", signed("github", b"{}") | {"x-github-delivery": ident}, b"{}", SECRET, now=NOW)
    old = {"x-gitlab-token": SECRET}  # before 17.4 it sends none: named by what it says
    assert read("gitlab", old, b"{}", SECRET, now=NOW).ident == hashlib.sha256(b"{}").hexdigest()


words = st.text(max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
names = st.sampled_from(
    "action number issue pull_request repository full_name project path_with_namespace object_kind object_attributes "
    "merge_request iid id sha head_sha after builds status build_id build_status check_run workflow_run conclusion "
    "pull_requests app slug last_commit head".split()
)
kinds = st.sampled_from(["note", "merge_request", "pipeline", "build", "issue"])
values = st.recursive(
    scalars | kinds, lambda one: st.lists(one, max_size=3) | st.dictionaries(names, one, max_size=6), max_leaves=25
)


@given(st.sampled_from(KINDS), words, st.dictionaries(names, values, max_size=10))
def test_whatever_a_forge_sends_becomes_a_delivery_that_fits(kind: Kind, event: str, data: dict[str, Any]) -> None:
    got = told(kind, data, event)
    assert got.number is None or 0 < got.number < 2**31
    assert got.commit == "" or len(got.commit) in (40, 64)
    assert len(got.build) <= 80
    assert len(got.repository) <= 300
    assert len(got.action) <= 40
    assert (got.repository + got.action + got.build).isprintable()


header_names = st.sampled_from([*standard(b""), *signed("github", b""), "x-gitlab-token", "x-gitea-signature"])


@given(st.sampled_from(KINDS), st.dictionaries(header_names, words))
def test_no_header_that_was_made_up_is_a_signature(kind: Kind, given_headers: dict[str, str]) -> None:
    with pytest.raises(WrongSignature):
        check(kind, given_headers, b"{}", SECRET, now=NOW)


def test_what_our_forges_send_is_told_alike(forge: Forge, served: ServedForge, shop: ServedRepository) -> None:
    number = forge.open_request(head="work", base="main", title="Add up", text="Why.").number
    shop.hooks.append((SECRET, ""))
    shop.comment(number, "Hello")
    shop.line_comment(number, "shop.py", 2, "Why the 0?")
    newer = shop.commit("work", {"new.py": "x = 2\n"})
    build = shop.build_fails("E  assert 1 == 2", "work")
    shop.merge(number)
    got = []
    for sent in served.sent:
        headers = {name.lower(): value for name, value in sent.headers.items()}
        got.append(read(forge.kind, headers, sent.body, SECRET, now=time.time()))
    assert len({one.ident for one in got}) == len(got)
    assert {one.repository for one in got} == {"acme/shop"}
    about = [(one.event, one.number) for one in got]
    assert about[0] == ("comment", number)
    assert about[1] in (("review", number), ("comment", number))
    assert ("request", number) in about[2:]
    assert [(one.commit, one.build) for one in got if one.event == "build"] == [(newer, str(build.ident))]
