"""The one choke point before anything is stored: secrets out, shape unchanged.

Only what is surely a secret goes: known formats and the configured values, plain, encoded or in pieces, and literals
given to a name that promises one. Random-looking text alone stays, because code and hashes look random too.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus

from agents.secrets.disguise import find_disguised, find_joined
from agents.secrets.formats import find_known, formats, is_placeholder
from agents.secrets.names import find_assigned, promise
from agents.secrets.tables import pattern

_MAX_DEPTH = 100
_MIN_LENGTH = 6
_LOOK_BACK = 400  # characters of a stream that are kept to see what new ones belong to
_LONGEST_RUN = 2_000
_REMEMBERED = 4_096
_PASSES = 3  # a secret may touch another, and stand free only once that is gone
_MARK = "[redacted:"
_ASSIGNED = pattern("text", "assigned")
_WORDS = re.compile(r"passw|passphrase|api|secret|client|access|refresh|auth|private")
_HINTS = ("passw", "passphrase", "key", "secret", "token")
_KEY_NAME = pattern("text", "key_name")


@cache
def _named_by_place() -> frozenset[str]:
    """Kinds told by their place alone, where a placeholder may be as well; a shape of its own is never by chance."""
    return frozenset(entry.kind for entry in formats() if entry.place == "around")


class Redactor:
    """Knows the secrets of this installation by value, besides every known format."""

    def __init__(self, secrets: Mapping[str, str] | Iterable[str] = ()) -> None:
        """`secrets` maps a kind to a value (or just lists values); shorter than six characters are ignored."""
        named = secrets.items() if isinstance(secrets, Mapping) else (("secret", value) for value in secrets)
        forms: dict[str, str] = {}
        for kind, value in named:
            if len(value) >= _MIN_LENGTH and not is_placeholder(value):
                safe = re.sub(r"[^a-z0-9-]+", "-", kind.lower()).strip("-") or "secret"
                forms.update((form, safe) for form in _forms(value) if len(form) >= _MIN_LENGTH)
        self._kinds = forms
        self._clean: OrderedDict[tuple[int, int], None] = OrderedDict()
        # Longest first: a URL-encoded value may contain the plain one.
        ordered = sorted(forms, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def redact(self, value: Any) -> Any:
        """The same JSON value with every secret replaced by `[redacted:<kind>]`. Never raises; repeatable."""
        try:
            return self._any(value, 0)
        except Exception:  # noqa: BLE001 - losing a value is better than storing a secret or failing an audit write
            return f"{_MARK}unreadable]"

    def _any(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth > _MAX_DEPTH:
            return f"{_MARK}too-deep]"
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            return [self._any(item, depth + 1) for item in value]
        if isinstance(value, bytes | bytearray):
            return self._text(bytes(value).decode("utf-8", "replace"))
        return self._text(str(value))

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        done: dict[Any, Any] = {}
        for key, item in value.items():
            name = self._text(key) if isinstance(key, str) else key
            while name in done:
                name = f"{name}+"
            if isinstance(item, str) and isinstance(key, str) and _is_secret_item(key, item):
                done[name] = f"{_MARK}{_slug(key)}]"
            else:
                done[name] = self._any(item, depth + 1)
        return done

    def _text(self, text: str) -> str:
        if len(text) < _MIN_LENGTH:
            return text
        if (len(text), hash(text)) in self._clean:
            return text
        for _ in range(_PASSES):
            spans = self.spans(text)
            if not spans:
                break
            text = _cut(text, spans)
        else:
            return text
        # The same texts come by many times: in prompts, states and events.
        self._clean[len(text), hash(text)] = None
        if len(self._clean) > _REMEMBERED:
            self._clean.popitem(last=False)
        return text

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and kind of everything that must go."""
        found = list(self._configured(text))
        by_place = _named_by_place()
        found += [
            (kind, start, end)
            for kind, start, end in find_known(text)
            if kind not in by_place or not is_placeholder(text[start:end])
        ]
        literals = [match for match in _assigned(text) if not is_placeholder(match["value"])]
        found += [("password-literal", *match.span("value")) for match in literals]
        found += [(kind, start, end) for kind, start, end, sure in find_assigned(text) if sure]
        found += find_disguised(text)
        return [(start, end, kind) for kind, start, end in found]

    def _configured(self, text: str) -> Iterator[tuple[str, int, int]]:
        values = self._values
        if values is None:
            return

        def seen(where: str) -> Iterator[tuple[str, int, int]]:
            for match in values.finditer(where):
                yield self._kinds[match[0]], match.start(), match.end()

        yield from seen(text)
        yield from find_joined(text, seen)


class Stream:
    """Redacts words that arrive in pieces: the end of what came is kept back while it may be part of a secret."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or _current
        self._before = ""
        self._held = ""
        self.sent = 0  # characters given out

    def feed(self, text: str) -> str:
        """What may be shown now."""
        self._held += text
        cut = max(self._held.rfind(mark) for mark in " \n\t") + 1
        if len(self._held) - cut > _LONGEST_RUN:
            cut = len(self._held)
        return self._give(cut)

    def end(self) -> str:
        """The rest."""
        return self._give(len(self._held))

    def _give(self, cut: int) -> str:
        part, self._held = self._held[:cut], self._held[cut:]
        if not part:
            return ""
        edge, window = len(self._before), self._before + part
        try:
            spans = [(max(start, edge), end, kind) for start, end, kind in self._redactor.spans(window) if end > edge]
            safe = _cut(window, spans)[edge:] if spans else part
        except Exception:  # noqa: BLE001 - words that cannot be judged are not shown
            safe = f"{_MARK}unreadable]"
        self._before = window[-_LOOK_BACK:]
        self.sent += len(safe)
        return safe


def _assigned(text: str) -> Iterator[re.Match[str]]:
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return
    # Substring search for the words is several times faster than the pattern at every position.
    for start in sorted(
        {found.start() for found in _WORDS.finditer(lower)} if len(lower) == len(text) else range(len(text))
    ):
        if match := _ASSIGNED.match(text, start):
            yield match


def _is_secret_item(key: str, item: str) -> bool:
    if not _KEY_NAME.match(key) or not _MIN_LENGTH <= len(item) <= 4096:
        return False
    return not is_placeholder(item) and not any(c.isspace() for c in item)


def _slug(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[-40:]


def _cut(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < done:
            # Overlaps widen what is cut: the tail of a longer secret must not stay.
            done = max(done, end)
            continue
        if text.startswith(_MARK, start) or text.rfind(_MARK, max(0, start - 60), start) > text.rfind("]", 0, start):
            continue
        parts += [text[done:start], f"{_MARK}{kind}]"]
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _forms(value: str) -> set[str]:
    """The value as it may turn up: plain, URL-encoded, hex, base64 at each of the three alignments."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = {value, quote(value, safe=""), quote_plus(value), raw.hex(), raw.hex().upper()}
    if len(value) >= 10:
        forms |= {value[::-1], codecs.encode(value, "rot13"), base64.b32encode(raw).decode().rstrip("=")}
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * shift + raw).decode().rstrip("=")
            # The first and last characters also depend on the neighbours.
            core = text[(0, 2, 3)[shift] : len(text) if (len(raw) + shift) % 3 == 0 else -1]
            if len(core) >= 8:
                forms.add(core)
    return forms


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment whose names say that they are secret, as kind → value."""
    return {
        name: value
        for name, value in environment.items()
        if promise(name) in ("password", "secret")
        # PWD is where the shell stands; sockets and files of secrets are named by path.
        and name.upper() not in ("PWD", "OLDPWD")
        and not value.startswith(("/", "~", "."))
        and len(value) >= 8
        and not value.isdigit()
    }


_current = Redactor()


def configure(secrets: Mapping[str, str] | Iterable[str]) -> None:
    """Name the secrets that `redact` must know by value; called once at start-up."""
    global _current
    _current = Redactor(secrets)


def redact(value: Any) -> Any:
    """Redact with the configured secrets; see `Redactor.redact`."""
    return _current.redact(value)
