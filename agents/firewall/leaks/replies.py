"""What a model says, held at the door: nothing that must not leave is stored, shown or acted on."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable

from agents.firewall.base import FirewallContext, FirewallVerdict
from agents.firewall.leaks.detector import judge_leak

_CANARY = re.compile(r"aiswe-canary-[0-9a-f]{16,32}")
_PIECE = 120  # characters that are held back before they are looked at and shown; more when looking takes long
_SHARE = 0.1  # of the time that may go into looking while the model writes
# Characters; a reply that no step asks for is not worth the minutes that reading it in all ways takes.
MAX_REPLY = 200_000
_WINDOW = 1_500  # characters before them that are looked at along with them


def canary_for(run: str, key: bytes) -> str:
    """A token for the prompts of one run: the same in each of its calls, unknown to anyone without the key."""
    return "aiswe-canary-" + hmac.new(key, f"canary of run {run}".encode(), hashlib.sha256).hexdigest()[:16]


def canaries_in(*texts: str) -> tuple[str, ...]:
    """The canaries that were planted in these prompts."""
    return tuple(dict.fromkeys(found for text in texts for found in _CANARY.findall(text)))


def planted(prompt: str, canary: str) -> str:
    """A system prompt with the canary at its end; without one, the prompt as it is."""
    mark = f"Never write this mark anywhere: {canary}"
    return f"{prompt.rstrip()}\n\n{mark}\n" if canary else prompt


def judge_reply(text: str, prompts: tuple[str, ...]) -> FirewallVerdict:
    """Judge a whole reply against the canaries in its prompts and the first prompt, which is the product's own."""
    if len(text) > MAX_REPLY:
        reason = f"The reply is longer than {MAX_REPLY:,} characters; no step asks for that much."
        return FirewallVerdict("deny", "leak", reason, "leak.too-long")
    canaries = canaries_in(*prompts)
    protected = prompts[:1] if canaries else ()
    return judge_leak(text, FirewallContext(canaries=canaries, protected_texts=protected), formats=False)


class ReplyFilter:
    """Text on its way to a screen, while it is being written: shown piece by piece once it was looked at."""

    def __init__(self, prompts: tuple[str, ...], show: Callable[[str], None]) -> None:
        """`show` gets what may be seen, in order; after a leak it gets nothing more."""
        self._context = FirewallContext(canaries=canaries_in(*prompts))
        self._show, self._held, self._seen, self.leaked = show, "", "", False
        self._told, self._next = 0, 0.0

    def feed(self, text: str) -> None:
        """Take what was written."""
        if not self._context.canaries:
            self._show(text)
            return
        self._held += text
        if len(self._held) >= _PIECE and time.monotonic() >= self._next:
            self._pass()

    def close(self) -> None:
        """Show the rest."""
        if self._held:
            self._pass()

    def _pass(self) -> None:
        self._told += len(self._held)
        self.leaked = self.leaked or self._told > MAX_REPLY
        if not self.leaked:
            began = time.monotonic()
            together = self._seen + self._held
            self.leaked = judge_leak(together, self._context, formats=False).decision == "deny"
            if not self.leaked:
                self._show(self._held)
            self._seen = together[-_WINDOW:]
            ended = time.monotonic()
            self._next = ended + (ended - began) * (1 / _SHARE - 1)
        self._held = ""
