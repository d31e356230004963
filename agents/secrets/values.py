"""Whether a value looks like a secret: random, or a password; not words, a path, an expression or a stand-in."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

from agents.secrets.formats import is_placeholder
from agents.secrets.tables import pattern, words

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PARTS = re.compile(r"[\-_.:/+=@,|~]+")
_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_COMMON_PAIRS = words("pairs")
_EXPRESSION, _HASH = pattern("values", "expression"), pattern("values", "hash")
_PATTERN = re.compile(r"\]\{\d|\(\?[:=!<]|\\[dswb]|\[[aA0]-[zZ9fF]")
_WORDS = re.compile(r"[A-Za-z]{9,}|://|\w\(\w*\)")
_ALPHABET = re.compile(r"(?i)abcdef|uvwxyz|qwerty|0123456|lorem|ipsum")


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def reads_as_words(value: str) -> bool:
    """Whether a value is made of words, numbers and separators, as names, paths and sentences are."""
    pairs: list[str] = []
    for part in filter(None, _PARTS.split(value)):
        chunks: list[str] = _CHUNK.findall(part)
        numbers = [chunk for chunk in chunks if chunk.isdigit()]
        if not part.isascii() or sum(map(len, chunks)) < len(part):
            return False
        if len(numbers) > max(1, len(part) // 10) or any(len(number) > 4 for number in numbers):
            return False
        for chunk in chunks:
            pairs += [] if chunk.isdigit() else [a + b for a, b in zip(chunk.lower(), chunk.lower()[1:], strict=False)]
    if len(pairs) < 3:
        return len(value) <= 8
    return sum(pair in _COMMON_PAIRS for pair in pairs) >= (0.5 if len(pairs) >= 12 else 0.62) * len(pairs)


def looks_random(value: str, least: int) -> bool:
    """Whether a value of at least `least` characters could have come from a generator of keys."""
    value = value.strip()
    if len(value) < least or is_placeholder(value) or _HASH.search(value):
        return False
    if _PATTERN.search(value):
        return False
    if _is_noise(value):
        return True
    if _EXPRESSION.search(value) or (value[0] == "/" and reads_as_words(value)):
        return False
    if _UUID.fullmatch(value):
        return len(set(value)) > 8
    if not value.isascii() or _ALPHABET.search(value):
        return False
    if reads_as_words(value) or not any(c.isalpha() for c in value):
        return False
    if value.isalpha() and (len(value) < 16 or (_turns(value) < 0.2 and not value.isupper())):
        return False
    return entropy(value) >= (2.6 if len(value) < 16 else 3.0)


def _is_noise(value: str) -> bool:
    """Long text of all sorts of characters, as frameworks make their signing keys: no expression has so many."""
    marks = sum(not c.isalnum() for c in value)
    digits = sum(c.isdigit() for c in value)
    plain = len(value) >= 32 and not re.search(r"\s", value)
    return plain and marks >= 4 and digits >= 4 and entropy(value) >= 4.2 and not _WORDS.search(value)


def _turns(value: str) -> float:
    """How often lower and upper case change places: seldom in words, all the time in random text."""
    return sum(a.islower() != b.islower() for a, b in itertools.pairwise(value)) / len(value)


def is_password(value: str) -> bool:
    """Whether a value given to a password's name is one: two sorts of characters, no placeholder, no expression."""
    if (
        not 5 <= len(value) <= 256
        or re.fullmatch(r"\d{1,5}(?:\.\d+)*", value)
        or is_placeholder(value)
        or _HASH.search(value)
    ):
        return False
    if re.search(r"\s|^[({\[<]|[)}\]>]$|\$\{|\{\{|%\(|^[a-z]+://|^(?:\.{0,2}/|~/)|^--", value):
        return False
    if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(.*\))?", value):
        return False
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    others = any(not c.isalnum() for c in value)
    if reads_as_words(value) and not digits:
        return False
    return (letters + digits + others >= 2 and entropy(value) >= 2.3) or (value.isdigit() and len(value) >= 6)
