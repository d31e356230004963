"""Attestations: what was known of a merge, signed, beside its commit. Checking one needs no database.

An in-toto Statement (v1) in a DSSE envelope, signed with the installation's key.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from agents.workspace.export import NOTES, commit_at
from agents.workspace.git import GitError
from agents.workspace.notes import facts_of, note_of
from projects.errors import BadInput
from projects.services.audit import signing
from projects.services.audit.canonical import canonical_json

STATEMENT = "https://in-toto.io/Statement/v1"
MERGE = "urn:aiswe:attestation:merge:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class AttestationReport:
    """Whether a commit is attested: `problem` says why not; `predicate` is what was signed of its merge."""

    ok: bool
    commit: str = ""
    key: str = ""
    problem: str = ""
    predicate: Mapping[str, Any] = field(default_factory=dict)


def _signed_bytes(payload: bytes) -> bytes:
    """The bytes that DSSE signs (its pre-authentication encoding)."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def envelope(commit: str, predicate: Mapping[str, Any], key: Ed25519PrivateKey) -> str:
    """The signed statement about a commit, as one line of JSON."""
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": "commit", "digest": {"gitCommit": commit}}],
        "predicateType": MERGE,
        "predicate": predicate,
    }
    payload = canonical_json(statement).encode()
    signature = {"keyid": signing.fingerprint(key.public_key()), "sig": signing.sign(_signed_bytes(payload), key)}
    packed = {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": [signature]}
    return json.dumps(packed, sort_keys=True)


def opened(text: str, key: Ed25519PublicKey) -> dict[str, Any]:
    """The statement in an envelope. Raises BadInput when it is none, or not signed with this key."""
    try:
        packed = json.loads(text)
        payload = base64.b64decode(packed["payload"], validate=True)
        signatures = [str(one["sig"]) for one in packed["signatures"]]
        kind = packed["payloadType"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise BadInput("The note is not a DSSE envelope.") from None
    if kind != PAYLOAD_TYPE:
        raise BadInput(f"The envelope holds {str(kind)[:60]!r}, not an in-toto statement.")
    if not any(signing.is_signed(_signed_bytes(payload), one, key) for one in signatures):
        raise BadInput(f"The attestation is not signed with the key {signing.fingerprint(key)}, or was changed since.")
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError):
        raise BadInput("The attestation holds no JSON.") from None
    if not isinstance(statement, dict):
        raise BadInput("The attestation holds no statement.")
    return statement


def verify_commit(folder: Path, revision: str, key: Ed25519PublicKey) -> AttestationReport:
    """Check the attestation of a commit in a repository or checkout against a public key, and nothing else."""
    name, commit = signing.fingerprint(key), ""
    try:
        commit = commit_at(folder, revision)
        note = note_of(folder, commit)
        if not note:
            hint = f"fetch it with `git fetch origin {NOTES}:{NOTES}`"
            raise BadInput(f"The commit has no attestation here; {hint}, if the merge was attested.")
        statement = opened(note, key)
        predicate = _predicate(statement, commit, facts_of(folder, commit))
    except (BadInput, GitError) as refused:
        return AttestationReport(False, commit, name, str(refused))
    return AttestationReport(True, commit, name, "", predicate)


def _predicate(statement: Mapping[str, Any], commit: str, facts: Mapping[str, str]) -> dict[str, Any]:
    """What a statement says of exactly this commit. Raises BadInput."""
    predicate = statement.get("predicate")
    if (
        statement.get("_type") != STATEMENT
        or statement.get("predicateType") != MERGE
        or not isinstance(predicate, dict)
    ):
        raise BadInput("The statement is not about a merge.")
    subjects = statement.get("subject")
    digests = [one.get("digest") for one in subjects if isinstance(one, dict)] if isinstance(subjects, list) else []
    if digests != [{"gitCommit": commit}]:
        raise BadInput("The attestation is about another commit.")
    for part, said in facts.items():
        if str(predicate.get(part, "")) != said:
            raise BadInput(f"The attestation names another {part} than the commit: {predicate.get(part)!r}.")
    return predicate
