"""Whether a value looks like a secret: random, or a password; not words, a path, an expression or a stand-in."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

from agents.gates.secret_formats import is_placeholder

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PARTS = re.compile(r"[\-_.:/+=@,|~]+")
_PLAIN_PART = re.compile(
    r"(?:[A-Z]?[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)+|[a-z]{1,12}\d{1,3}|v?\d{1,4}|[A-Z]{1,8}\d{1,2})"
)
_EXPRESSION = re.compile(
    r"[(){}\[\]<>]|\$\w|\s|%[sd(]|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^[a-z]+://|^(?:\.{0,2}/|~/|\\\\|[A-Z]:\\)|^--"
)
_HASH = re.compile(
    r"^\$(?:2[abxy]?|argon2\w*|apr1|[156y]|pbkdf2[\w\-]*|scrypt)\$|^(?:pbkdf2_|bcrypt|argon2|scrypt:|sha\d+[:\-$]|md5[:$])|^\{(?:SSHA|SHA)"
)
_ALPHABET = re.compile(r"(?i)abcdef|uvwxyz|qwerty|0123456|lorem|ipsum")


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def reads_as_words(value: str) -> bool:
    """Whether a value is made of words, numbers and separators, as names, paths and sentences are."""
    parts = [part for part in _PARTS.split(value) if part]
    return all(_PLAIN_PART.fullmatch(part) for part in parts)


def looks_random(value: str, least: int) -> bool:
    """Whether a value of at least `least` characters could have come from a generator of keys."""
    value = value.strip()
    if len(value) < least or is_placeholder(value) or _EXPRESSION.search(value) or _HASH.search(value):
        return False
    if _UUID.fullmatch(value):
        return len(set(value)) > 8
    if not value.isascii() or _ALPHABET.search(value):
        return False
    letters = sum(c.isalpha() for c in value)
    digits = sum(c.isdigit() for c in value)
    bits = entropy(value)
    if reads_as_words(value):
        return letters == len(value) and len(value) >= 20 and _turns(value) >= 0.25 and bits >= 3.8
    if not letters or (not digits and _turns(value) < 0.2):
        return False
    return bits >= (2.6 if len(value) < 16 else 3.0 if len(value) < 24 else 3.2)


def _turns(value: str) -> float:
    """How often lower and upper case change places: seldom in words, all the time in random text."""
    return sum(a.islower() != b.islower() for a, b in itertools.pairwise(value)) / len(value)


def is_password(value: str) -> bool:
    """Whether a value given to a password's name is one: two sorts of characters, no placeholder, no expression."""
    if not 5 <= len(value) <= 256 or is_placeholder(value) or _HASH.search(value):
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
