"""Vectors without a model: signed feature hashing of words and word parts, normalised to length 1.

Weaker than a language model's embedding and honest about it: it finds shared words, not shared meaning.
Source: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

DIMENSIONS = 256
EMBEDDER = f"hashing-{DIMENSIONS}"
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{1,60}|\d{1,10}")


def embed(texts: Sequence[str]) -> list[list[float]]:
    """One vector of DIMENSIONS floats for each text."""
    return [_vector(text) for text in texts]


def _features(text: str) -> list[str]:
    found = []
    for word in _WORD.findall(text[:20_000]):
        low = word.lower()
        found.append(low)
        found.extend(part for part in low.split("_") if part and part != low)
    return found


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for feature in _features(text):
        digest = hashlib.blake2b(feature.encode(), digest_size=4).digest()
        number = int.from_bytes(digest, "big")
        vector[number % DIMENSIONS] += 1.0 if number & 0x8000_0000 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector
