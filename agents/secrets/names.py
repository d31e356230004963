"""Literals given to names that say what they are: how a secret without a shape of its own is known.

A name is read as words ("dbPassword" is db and password), so that a keyboard is no key and a tokenizer no token. What
a name promises decides how much the value has to look like a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from agents.secrets.tables import pattern, words
from agents.secrets.values import is_password, looks_random, reads_as_words

Promise = Literal["password", "secret", "key"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PASSWORDS, _SECRETS, _BEFORE_KEY = words("passwords"), words("secrets"), words("before_key")
_WEAK, _ABOUT, _NEVER = words("weak"), words("about"), words("never")
_VARIANTS, _NO_KEYS = words("variants"), words("no_keys")
_HINTS = sorted(words("hints"))
_QUOTED, _BARE, _ELEMENT, _NAMED_VALUE, _PAIR = (
    pattern("names", name) for name in ("quoted", "bare", "element", "named_value", "pair")
)
_QUOTED_RUN = re.compile(r"[\"'`]([A-Za-z0-9+/_\-.~]{20,200}={0,2})[\"'`]")
_CODE = frozenset("python javascript typescript go java kotlin ruby php c cpp rust lua perl unchecked".split())
_MIXED = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])")
_NEAR = 300  # characters on the same line

Found = tuple[str, int, int, bool]


def promise(name: str) -> Promise | None:
    """What a name promises: a password, a secret, a key of some kind, or nothing."""
    parts = [word.lower() for word in _WORD.findall(name)]
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _VARIANTS):
        parts.pop()
    if not parts or parts[-1] in _ABOUT or not _NEVER.isdisjoint(parts):
        return None
    for place, word in enumerate(parts):
        if word in _PASSWORDS or word.endswith(("password", "passwd", "passphrase")):
            return "password"
        if word in _SECRETS or word.endswith(("secret", "token", "apikey", "secretkey")):
            return "secret"
        if word in ("key", "keys") and place and parts[place - 1] in _BEFORE_KEY:
            return "secret"
    last = parts[-1]
    return "key" if last in _WEAK or (last.endswith("key") and last not in _NO_KEYS) else None


def find_assigned(text: str, language: str = "") -> Iterator[Found]:
    """Literals given to secret-like names: kind, start and end of the value, and whether it surely is one.

    `language` is a unit's language: in code a bare word after a name is a variable, in a settings file it is a value.
    """
    taken: set[int] = set()
    for found in _candidates(text, language):
        if found[1] not in taken:
            taken.add(found[1])
            yield found


def _candidates(text: str, language: str) -> Iterator[Found]:
    for start in _name_starts(text):
        if match := _QUOTED.match(text, start):
            yield from _quoted(match)
        elif (match := _BARE.match(text, start)) and (language not in _CODE or _MIXED.match(match["value"])):
            yield from _bare(text, match, "" if language in _CODE else language)
    if "</" in text:
        for match in _ELEMENT.finditer(text):
            yield from _judged(match, match["name"])
    if "alue" in text:
        for match in _NAMED_VALUE.finditer(text):
            yield from _judged(match, match["name"])
    if "uth" in text or "login" in text:
        for match in _PAIR.finditer(text):
            if is_password(match["value"]):
                yield "assigned-password", *match.span("value"), True
    yield from _beside_a_hint(text)


def _name_starts(text: str) -> Iterator[int]:
    """Where identifiers begin that have a telling word in them."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two
        lower = text.encode("ascii", "replace").decode().lower()
    before = -1
    # One search for each word is several times faster than one pattern with all of them.
    for place in sorted({place for word in _HINTS for place in _places(lower, word)}):
        start = place
        while start and place - start < 80 and (text[start - 1].isalnum() or text[start - 1] in "_$.-:/"):
            start -= 1
        while start < place and not (text[start].isalpha() or text[start] in "_$"):
            start += 1
        if start > before:
            before = start
            yield start


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _quoted(match: re.Match[str]) -> Iterator[Found]:
    # A list holds names beside values only when the name is quoted; a path in a list is a neighbour, not a name.
    if match["op"] == "," and (
        not match["close"] or "/" in match.string[max(0, match.start() - 2) : match.end("name")]
    ):
        return
    for kind, start, end, sure in _judged(match, match["name"]):
        # In a list of names and texts, or a comparison, only what is plainly random counts.
        if match["op"] not in (",", "!=", "!==") or (sure and not reads_as_words(match["value"])):
            yield kind, start, end, sure


def _bare(text: str, match: re.Match[str], language: str) -> Iterator[Found]:
    value, op, name = match["value"], match["op"], match["name"]
    before = text[max(0, match.start() - 4) : match.start()].lower()
    if op in " \t" and not name.startswith("-") and not before.endswith(("env ", "arg ", "--")):
        return
    expression = value.startswith((*"$%*@/~=", "./", "--")) or "://" in value
    if expression or ("=" in value.rstrip("=")[:-1] and op != "="):
        return
    settings = language not in ("", "template") or name.isupper()
    for kind, start, end, sure in _judged(match, name):
        # Outside of settings a bare word may be a variable of some language: it must look random by itself.
        if looks_random(value, 14) if not settings else sure or is_password(value):
            yield kind, start, end, sure


def _judged(match: re.Match[str], name: str) -> Iterator[Found]:
    value = match["value"]
    held = promise(name.rpartition("/")[2].rpartition(":")[2] or name)
    if held is None:
        return
    verdict: bool | None = None
    if held == "password":
        verdict = True if is_password(value) else None
        if verdict is None and value.isalnum() and len(value) >= 6 and not reads_as_words(value):
            verdict = False
    elif held == "secret":
        verdict = True if looks_random(value, 16) else (False if looks_random(value, 10) else None)
    elif looks_random(value, 20):
        verdict = not re.fullmatch(r"[0-9a-f]{32,128}", value) or None
    if verdict is not None:
        yield f"assigned-{held}", *match.span("value"), verdict


def _beside_a_hint(text: str) -> Iterator[Found]:
    """A random literal on a line that speaks of a secret in other words."""
    for match in _QUOTED_RUN.finditer(text):
        if not looks_random(match[1], 24) or not _MIXED.match(match[1]):
            continue
        begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _NEAR)
        end = text.find("\n", match.end())
        end = min(end if end >= 0 else len(text), match.end() + _NEAR)
        if _speaks_of_secret(f"{text[begin : match.start()]} {text[match.end() : end]}"):
            yield "random-literal", *match.span(1), False


def _speaks_of_secret(line: str) -> bool:
    names = re.findall(r"[A-Za-z_][\w\-]*", line)
    return any(promise(name) in ("password", "secret") for name in names)
