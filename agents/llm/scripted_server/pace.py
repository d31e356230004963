"""How fast a simulated model reads and writes, and what its prompt cache saves."""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from agents.llm.tokens import count_tokens

_PIECE = re.compile(r"\s*\S{1,4}|\s+")
EMBED_DIMS = 256


def pieces(text: str) -> list[str]:
    """Cut a reply into token-sized pieces of about four characters; joined they are the text again."""
    return _PIECE.findall(text)


class Pace:
    """A clock for token speed; 0 means without delay.

    Reading is shared by all calls (prefill fills the card). Writing is per call: it waits for memory, not arithmetic,
    so a batch of a few conversations writes each at nearly the speed of one.
    """

    def __init__(self, tokens_per_s: float) -> None:
        self._seconds = 1.0 / tokens_per_s if tokens_per_s > 0 else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def copy(self) -> Pace:
        """A clock of its own at the same speed."""
        return Pace(1.0 / self._seconds if self._seconds else 0.0)

    def delay(self, tokens: int = 1) -> float:
        """Seconds to wait until this many tokens have been worked off."""
        if not self._seconds:
            return 0.0
        with self._lock:
            now = time.monotonic()
            self._next = max(now, self._next) + tokens * self._seconds
            return self._next - now


class PrefixCache:
    """Which beginning of a prompt was read before; one conversation is kept per slot, as real servers do."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._seen: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def reused(self, prompt: str) -> int:
        """How many characters of this prompt need no reading; the closest conversation is moved up."""
        with self._lock:
            best, length = "", 0
            for key, text in self._seen.items():
                common = common_prefix(text, prompt)
                if common > length:
                    best, length = key, common
            if best:
                del self._seen[best]
            self._keep(prompt)
            return length

    def extend(self, prompt: str, conversation: str) -> None:
        """Remember that a reply was written after a prompt: it needs no reading next time."""
        with self._lock:
            self._seen.pop(_digest(prompt), None)
            self._keep(conversation)

    def clear(self) -> None:
        """Forget everything, as a restart does."""
        with self._lock:
            self._seen.clear()

    def _keep(self, text: str) -> None:
        self._seen[_digest(text)] = text
        while len(self._seen) > self._slots:
            self._seen.popitem(last=False)


def common_prefix(one: str, other: str) -> int:
    """Length of the common beginning, by halving (long prompts are compared in C)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def render(messages: Sequence[Mapping[str, object]]) -> str:
    """A conversation as one text, the way a chat template joins it."""
    return "".join(f"<|{m.get('role')}|>\n{m.get('content')}\n" for m in messages)


def prompt_tokens(prompt: str, reused_chars: int) -> tuple[int, int]:
    """Tokens of a prompt, and how many of them came from the cache."""
    total = count_tokens(prompt)
    return total, min(total, count_tokens(prompt[:reused_chars]))


def embed(text: str) -> list[float]:
    """A deterministic vector: words and word pairs hashed into signed buckets, of length one."""
    words = re.findall(r"\w+", text.lower())
    vector = [0.0] * EMBED_DIMS
    for feature in [*words, *(f"{a} {b}" for a, b in pairwise(words))]:
        digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "big") % EMBED_DIMS] += 1.0 if digest[4] & 1 else -1.0
    norm = math.sqrt(sum(value * value for value in vector))
    return [value / norm for value in vector] if norm else [1.0] + [0.0] * (EMBED_DIMS - 1)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
