"""What must come back exactly as it was, yet be readable in no table and no backup: sealed with the session secret.

A run's saved state and the model's exact words may hold a secret that the model made up. Redacting them would give a
resumed run other code than an uninterrupted one; so they are encrypted (Fernet: AES-128-CBC with HMAC-SHA256) with a
key derived from Django's SECRET_KEY, which is kept outside the database. SECRET_KEY_FALLBACKS open older seals.
"""

from __future__ import annotations

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from projects.errors import Unsealable
from projects.models import SealedReply

CIPHER = "fernet"


@lru_cache(maxsize=4)
def _fernet(secrets: tuple[str, ...]) -> MultiFernet:
    keys = [
        base64.urlsafe_b64encode(HKDF(SHA256(), 32, salt=None, info=b"aiswe sealed state").derive(secret.encode()))
        for secret in secrets
    ]
    return MultiFernet([Fernet(key) for key in keys])


def _keys() -> MultiFernet:
    return _fernet((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


def seal(plain: bytes) -> bytes:
    """Encrypt; the same bytes never look the same twice."""
    return _keys().encrypt(plain)


def unseal(sealed: bytes) -> bytes:
    """What was sealed; raises Unsealable when it was sealed with another secret, or changed since."""
    try:
        return _keys().decrypt(sealed)
    except InvalidToken:
        raise Unsealable(
            "The saved state of this run was sealed with another AISWE_SECRET_KEY, or was changed. Put the "
            "old key back "
            "(or name it in AISWE_SECRET_KEY_FALLBACKS), or retry the task: it then starts over."
        ) from None


def keep_reply(run_id: int, key: str, text: str) -> None:
    """Keep a reply under the key of its call; the same key again changes nothing. Use the event's transaction."""
    reply = SealedReply(run_id=run_id, key=key, blob=seal(text.encode("utf-8", "surrogatepass")))
    SealedReply.objects.bulk_create([reply], ignore_conflicts=True)


def kept_reply(run_id: int, key: str) -> str | None:
    """The words of that call, or None. Raises Unsealable."""
    row = SealedReply.objects.filter(run_id=run_id, key=key).first()
    return None if row is None else unseal(bytes(row.blob)).decode("utf-8", "surrogatepass")


def forget_replies(run_id: int) -> None:
    """Delete the replies of a run that is over: nothing continues from them."""
    SealedReply.objects.filter(run_id=run_id).delete()


class Seal:
    """LangGraph's cipher protocol over `seal` and `unseal`."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """(name of the cipher, sealed bytes)."""
        return CIPHER, seal(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """The bytes; raises Unsealable."""
        if ciphername != CIPHER:
            raise Unsealable(f"The saved state of this run is sealed with {ciphername!r}, which is not known here.")
        return unseal(ciphertext)
