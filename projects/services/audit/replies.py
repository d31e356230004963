"""The model's exact words, kept sealed while a run may have to go on from them."""

from __future__ import annotations

from projects.models import SealedReply
from projects.services.audit.sealing import seal, unseal


def keep_reply(run_id: int, key: str, text: str) -> None:
    """Keep a reply under the key of its call; the same key again changes nothing. Use the event's transaction."""
    reply = SealedReply(run_id=run_id, key=key, blob=seal(text.encode("utf-8", "surrogatepass")))
    SealedReply.objects.bulk_create([reply], ignore_conflicts=True)


def kept_reply(run_id: int, key: str) -> str | None:
    """The words of that call, or None; raises Unsealable."""
    row = SealedReply.objects.filter(run_id=run_id, key=key).first()
    return None if row is None else unseal(bytes(row.blob)).decode("utf-8", "surrogatepass")


def forget_replies(run_id: int) -> None:
    """The run is over: nothing goes on from them any more."""
    SealedReply.objects.filter(run_id=run_id).delete()
