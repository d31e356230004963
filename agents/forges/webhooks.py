"""What a forge sends: is it from there, and what is it about.

The signature is checked over the bytes as they came, before anything in them is read. Of what they say only names and
numbers are kept: whoever acts on a delivery asks the forge how things are.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from agents.forges.contract import Delivery, Kind

MOST_SECONDS = 300  # between the time that a signature names and now
_IDENT = re.compile(r"[\x21-\x7e]{1,120}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_NUMBER = 2**31 - 1
_SIGNED = "whsec_"  # begins a secret that is written as its bytes in base64


class WrongSignature(Exception):
    """It is not from the forge, as far as anybody can tell: no signature, a wrong one, or one that is too old."""


class UnreadableDelivery(Exception):
    """The signature holds, but what was sent cannot be read; the text says why."""


def read(kind: Kind, headers: Mapping[str, str], body: bytes, secret: str, *, now: float) -> Delivery:
    """The delivery in `body`, once its signature holds; the names in `headers` are in lower case, `now` is Unix time.

    Raises WrongSignature and UnreadableDelivery.
    """
    check(kind, headers, body, secret, now=now)
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        why = "The body is not JSON: choose application/json as the webhook's content type."
        raise UnreadableDelivery(why) from None
    if not isinstance(data, dict):
        raise UnreadableDelivery("The body is not a JSON object.")
    return _READERS[kind](_ident(kind, headers, body), headers, data)


def check(kind: Kind, headers: Mapping[str, str], body: bytes, secret: str, *, now: float) -> None:
    """See that whoever sent this knows the secret. Raises WrongSignature."""
    if not secret:
        raise WrongSignature("This webhook has no secret, so nothing can be told from a forgery.")
    if kind == "gitlab" and "webhook-signature" in headers:
        right = _standard(headers, body, secret, now)
    elif kind == "gitlab":
        right = _same(headers.get("x-gitlab-token", ""), secret)
    elif kind == "github":
        right = _same(headers.get("x-hub-signature-256", ""), f"sha256={_hex(secret, body)}")
    else:
        # A wrong one under the newer name is not made good by the older.
        given = headers.get("x-forgejo-signature") or headers.get("x-gitea-signature", "")
        right = _same(given, _hex(secret, body))
    if not right:
        raise WrongSignature("The signature is missing or wrong.")


def _same(given: str, wanted: str) -> bool:
    """Whether both are one text, in a time that tells nothing of either, not even of their lengths."""
    one, other = (hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest() for text in (given, wanted))
    return hmac.compare_digest(one, other)


def _hex(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _standard(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """The scheme of standardwebhooks.com: the name, the time and the body are signed; several signatures may stand."""
    ident, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    try:
        key = base64.b64decode(secret.removeprefix(_SIGNED), validate=True)
    except (binascii.Error, ValueError):
        key = secret.encode()
    signed = f"{ident}.{moment}.".encode("utf-8", "backslashreplace") + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    right = any(_same(one, wanted) for one in headers["webhook-signature"].split()[:10])
    recent = moment.isascii() and moment.isdigit() and len(moment) <= 12 and abs(now - int(moment)) <= MOST_SECONDS
    return right and recent


_IDENTS: dict[Kind, tuple[str, ...]] = {
    "github": ("x-github-delivery",),
    "forgejo": ("x-forgejo-delivery", "x-gitea-delivery"),
    "gitlab": ("webhook-id", "idempotency-key", "x-gitlab-event-uuid"),
}


def _ident(kind: Kind, headers: Mapping[str, str], body: bytes) -> str:
    """The forge's name for the delivery; a server that is too old to send one names it by what it says."""
    given = next((headers[name] for name in _IDENTS[kind] if headers.get(name)), "")
    if not given and kind == "gitlab":
        return hashlib.sha256(body).hexdigest()
    if not _IDENT.fullmatch(given):
        raise UnreadableDelivery(f"The header {_IDENTS[kind][0]} is missing or no name.")
    return given


def _at(data: Any, *path: str) -> Any:
    """What stands at a path of names; None where something else is in the way."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _text(data: Any, *path: str, most: int = 300) -> str:
    found = _at(data, *path)
    return found[:most] if isinstance(found, str) and found.isprintable() else ""


def _number(data: Any, *path: str) -> int | None:
    found = _at(data, *path)
    return found if type(found) is int and 0 < found <= _MOST_NUMBER else None


def _ident_of(data: Any, *path: str) -> str:
    """A number of the forge as text, however large; "" for anything else."""
    found = _at(data, *path)
    return str(found) if type(found) is int and 0 < found < 2**63 else ""


def _commit(data: Any, *path: str) -> str:
    found = _at(data, *path)
    return found if isinstance(found, str) and _COMMIT.fullmatch(found) else ""


_Event = Literal["comment", "review", "request", "issue", "status", "push", "build", "other"]
_HUB: dict[str, _Event] = {
    "issue_comment": "comment",
    "pull_request_comment": "review",
    "pull_request_approved": "review",
    "pull_request_rejected": "review",
    "pull_request_review": "review",
    "pull_request_review_comment": "review",
    "pull_request": "request",
    "issues": "issue",
    "push": "push",
    "status": "status",
}
_FAILED = ("failure", "failed", "timed_out", "startup_failure", "error")
_BUILDS = ("check_run", "workflow_job", "workflow_run")


def _hub(ident: str, headers: Mapping[str, str], data: dict[str, Any]) -> Delivery:
    """GitHub's words, which Forgejo and Gitea share."""
    name = next((headers[one] for one in ("x-forgejo-event", "x-gitea-event", "x-github-event") if one in headers), "")
    event = _HUB.get(name, "other")
    number = _number(data, "pull_request", "number") or _number(data, "issue", "number")
    if event in ("request", "review"):
        number = number or _number(data, "number")
    commit = _commit(data, "after") or _commit(data, "sha") or _commit(data, "pull_request", "head", "sha")
    build = ""
    if name in _BUILDS:
        one = _at(data, name)
        commit = _commit(one, "head_sha")
        event = "status"
        if _text(data, "action") == "completed" and _text(one, "conclusion") in _FAILED:
            # A check of another maker than the forge's own builds has no log there.
            foreign = name == "check_run" and _text(one, "app", "slug") not in ("github-actions", "")
            # The log is a job's: of a whole workflow the jobs are told one by one.
            build = "" if foreign or name == "workflow_run" else _ident_of(one, "id")
            event = "build" if build else event
        listed = _at(one, "pull_requests")
        number = _number(listed[0], "number") if isinstance(listed, list) and listed else None
    repository = _text(data, "repository", "full_name")
    return Delivery(ident, event, repository, number, commit, _text(data, "action", most=40), build)


_LAB: dict[str, _Event] = {
    "note": "comment",
    "merge_request": "request",
    "issue": "issue",
    "push": "push",
    "pipeline": "status",
    "build": "status",
}


def _lab(ident: str, headers: Mapping[str, str], data: dict[str, Any]) -> Delivery:
    """GitLab's words: what they call a job in the interface is a build in what they send."""
    name = _text(data, "object_kind")
    event = _LAB.get(name, "other")
    subject = "merge_request" if name in ("note", "pipeline") else "object_attributes"
    number = _number(data, subject, "iid") if name in ("note", "pipeline", "merge_request", "issue") else None
    if name == "note" and number is None:
        number = _number(data, "issue", "iid")
    commit, build, state = _commit(data, "after"), "", ""
    if name == "pipeline":
        commit, state = _commit(data, "object_attributes", "sha"), _text(data, "object_attributes", "status")
        listed = _at(data, "builds")
        failed = [one for one in listed if _text(one, "status") == "failed"] if isinstance(listed, list) else []
        build = _ident_of(failed[0], "id") if failed else ""
    elif name == "build":
        commit, state, build = _commit(data, "sha"), _text(data, "build_status"), _ident_of(data, "build_id")
    elif name == "merge_request":
        commit = _commit(data, "object_attributes", "last_commit", "id")
    event = "build" if state == "failed" else event
    action = state or _text(data, "object_attributes", "action", most=40)
    repository = _text(data, "project", "path_with_namespace")
    return Delivery(ident, event, repository, number, commit, action, build if state == "failed" else "")


_READERS: dict[Kind, Callable[[str, Mapping[str, str], dict[str, Any]], Delivery]] = {
    "github": _hub,
    "forgejo": _hub,
    "gitlab": _lab,
}
