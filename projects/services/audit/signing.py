"""Signatures on what leaves the database: heads of the trails, exports. Ed25519, with a key made at first use.

The private key is in the data folder, readable by its owner alone. Whoever has it can sign anything: it proves
that a file came from this installation and was not changed since, not that this installation is honest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from projects.errors import BadInput
from projects.storage.key_files import make_once

KEY_FILE = "signing_key.pem"


def audit_folder() -> Path:
    """Where key and heads are by default: AISWE_HOME/audit, readable by its owner alone."""
    from django.conf import settings

    folder = Path(settings.AISWE_HOME) / "audit"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def private_key(folder: Path | None = None) -> Ed25519PrivateKey:
    """The installation's key, made when there is none. Raises BadInput when others can read it or it is no such key."""
    path = (folder or audit_folder()) / KEY_FILE
    if not path.exists():
        make_once(path, _new_pem())
    if path.stat().st_mode & 0o077:
        raise BadInput(f"{path} can be read by others: `chmod 600` it; if it may have been copied, delete it.")
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except ValueError:
        raise BadInput(
            f"{path} holds no private key: restore it from a backup, or delete it to get a new one."
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"{path} holds a key of another kind than Ed25519: delete it to get a new one.")
    return key


def _new_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key: Ed25519PublicKey) -> str:
    """The public key as the text other programs read."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def fingerprint(key: Ed25519PublicKey) -> str:
    """Sixteen characters that name a public key."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def read_public(text: str) -> Ed25519PublicKey:
    """A public key from its PEM text; raises BadInput for anything else."""
    try:
        key = load_pem_public_key(text.strip().encode())
    except (ValueError, UnicodeEncodeError):
        raise BadInput("This is not a public key: use the file that `aiswe audit key` prints.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput("This public key is not an Ed25519 key.")
    return key


def sign(message: bytes, key: Ed25519PrivateKey) -> str:
    """The signature as base64."""
    return base64.b64encode(key.sign(message)).decode()


def is_signed(message: bytes, signature: str, key: Ed25519PublicKey) -> bool:
    """Whether exactly this message was signed with the key's other half."""
    try:
        key.verify(base64.b64decode(signature, validate=True), message)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def key_name() -> str:
    """The fingerprint of the installation's key; "" when it cannot be used, which an export then reports."""
    try:
        return fingerprint(private_key().public_key())
    except BadInput:
        return ""
