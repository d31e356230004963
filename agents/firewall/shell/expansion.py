"""Evaluate variables, braces and pipes of pure text programs without running anything."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator

from agents.firewall.shell.script import SimpleCommand

_MAX_WORDS, _MAX_OUTPUT, _MAX_DEPTH = 64, 50_000, 20
_SLICE = re.compile(r"^(\w+):\s?(-?\d+)(?::(\d+))?$")
_DEFAULT = re.compile(r"^(\w+):?[-=]([^$`]*)$")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_HOLE = re.compile(r"%[-\d.]*([a-zA-Z])")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def unescape(text: str) -> str:
    r"""Decode backslash escapes as `$'…'`, `echo -e` and printf do."""

    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits:
            return chr(min(int(digits, 16), 0x10FFFF))
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        return "" if match[5] else _NAMED.get(match[6], match[6])

    return _ESCAPE.sub(one, text)


class Variables:
    """What is known of the shell's variables; a name that was set to something unknown stays unknown."""

    def __init__(self) -> None:
        """The few whose meaning is fixed: home and the working folder as paths that say so, and the separator."""
        self.known: dict[str, str | None] = {"HOME": "~", "PWD": ".", "IFS": " ", "SHELL": "/bin/bash", "EDITOR": "vi"}
        self.separators = ""

    def set(self, name: str, value: str | None) -> None:
        """Remember an assignment; `name+` appends."""
        if name.endswith("+"):
            name = name[:-1]
            before = self.known.get(name)
            value = before + value if before is not None and value is not None else None
        if name == "IFS":
            self.separators = "".join(char for char in value or "" if not char.isspace())
            return
        self.known[name] = value if value is None or len(value) < _MAX_OUTPUT else None

    def separated(self, text: str) -> str:
        """The text with the separators of IFS as blanks."""
        for char in self.separators:
            text = text.replace(char, " ")
        return text

    def value(self, expression: str, word: str) -> str | None:
        """What `${expression}` gives inside a written `word`; None when only running would reveal it."""
        if expression in ("@", "*") and word.strip('"') not in (f"${expression}", f"${{{expression}}}"):
            return ""  # c$@at: empty, inserted to hide a name
        if expression.isdigit() and "IFS" in word:
            return ""
        if expression in self.known:
            return self.known[expression]
        if expression.endswith(":?") and expression[:-2] in self.known:
            return self.known[expression[:-2]]
        if found := _SLICE.match(expression):
            text = {"HOME": "/home", "PWD": "/workspace", "PATH": "/usr"}.get(found[1]) or self.known.get(found[1])
            if text is None:
                return None
            start = int(found[2])
            return text[start:][: int(found[3])] if found[3] else text[start:]
        if found := _DEFAULT.match(expression):
            return self.known.get(found[1]) or found[2]
        return None


def braces(text: str) -> list[str]:
    """`a{b,c}` as two words, at most a few dozen."""
    words = [text]
    for _ in range(6):
        grown: list[str] = []
        for word in words:
            found = re.search(r"(?<!\$)\{([^{}]*,[^{}]*)\}", word)
            if found:
                grown += [word[: found.start()] + part + word[found.end() :] for part in found[1].split(",")]
            else:
                grown.append(word)
        if grown == words or len(grown) > _MAX_WORDS:
            break
        words = grown
    return [word for word in words if word] or [text]


def output(simple: SimpleCommand | None, depth: int = 0) -> str | None:
    """What a pipe of pure text programs prints; None when anything else is in it."""
    if simple is None or depth > _MAX_DEPTH or not simple.words or simple.writes or simple.reads:
        return None
    if any(not word.literal for word in simple.words):
        return None
    name, arguments = simple.name, [word.text for word in simple.words[1:]]
    if name == "command" and arguments:
        name, arguments = arguments[0], arguments[1:]
    if name == "echo":
        return _echo(arguments)
    if name == "printf":
        return _printf(arguments)
    if name == "pwd":
        return "."
    given = simple.text_in if simple.text_in is not None else output(simple.piped_from, depth + 1)
    return None if given is None or len(given) > _MAX_OUTPUT else _filter(name, arguments, given)


def _echo(arguments: list[str]) -> str:
    escapes, newline = False, "\n"
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        escapes |= "e" in arguments[0]
        newline = "" if "n" in arguments[0] else newline
        arguments = arguments[1:]
    text = " ".join(arguments)
    return (unescape(text) if escapes else text) + newline


def _printf(arguments: list[str]) -> str:
    if not arguments:
        return ""
    pattern, values = unescape(arguments[0]), arguments[1:]
    holes = len(_HOLE.findall(pattern))
    if not holes:
        return pattern
    starts = range(0, max(len(values), 1), holes)
    return "".join(_fill(pattern, iter(values[start : start + holes])) for start in starts)[:_MAX_OUTPUT]


def _fill(pattern: str, values: Iterator[str]) -> str:
    def one(match: re.Match[str]) -> str:
        text = next(values, "")
        return {"b": unescape(text), "c": text[:1]}.get(match[1], text)

    return _HOLE.sub(one, pattern)


def _filter(name: str, arguments: list[str], given: str) -> str | None:
    options = [text for text in arguments if text.startswith("-")]
    plain = [text for text in arguments if not text.startswith("-")]
    if name == "gbase64" or (name == "openssl" and plain[:1] in (["base64"], ["enc"])):
        name = "base64"
    if decode := _DECODERS.get(name):
        return _decoded(decode, given) if _decodes(name, options) else None
    if name == "rev":
        return "\n".join(line[::-1] for line in given.split("\n"))
    if name == "tac":
        return "\n".join(reversed(given.rstrip("\n").split("\n"))) + "\n"
    if name == "cat" and not plain:
        return given
    if name == "tr":
        return _tr(options, plain, given)
    if name == "sed" and len(arguments) == 1:
        found = re.fullmatch(r"s(.)((?:(?!\1)[\w \-/.@#])*)\1((?:(?!\1)[\w \-/.@#])*)\1(g?)", arguments[0])
        return given.replace(found[2], found[3], -1 if found[4] else 1) if found and found[2] else None
    return None


def _decodes(name: str, options: list[str]) -> bool:
    """Whether a program turns its code into text with these options, and knows no key."""
    if "aes" in " ".join(options):
        return False
    if name == "xxd":
        return any("r" in text for text in options)
    decodes = any(re.fullmatch(r"-[a-zA-Z]*[dD]\w*|--decode|-base64", text) for text in options)
    return decodes or name not in ("base64", "base32")


def _unpacked(text: str) -> bytes:
    return zlib.decompressobj(47).decompress(text.encode("latin-1"), _MAX_OUTPUT)


_DECODERS: dict[str, Callable[[str], bytes]] = {
    "base64": lambda text: base64.b64decode("".join(text.split()) + "=="),
    "base32": lambda text: base64.b32decode("".join(text.split())),
    "xxd": lambda text: bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", text)),
    **dict.fromkeys(("gunzip", "zcat", "gzip", "zlib-flate"), _unpacked),
}


def _decoded(decode: Callable[[str], bytes], text: str) -> str | None:
    try:
        data = decode(text)
    except (ValueError, zlib.error):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _tr(options: list[str], plain: list[str], given: str) -> str | None:
    if not plain:
        return None
    first = _set(plain[0])
    if any("d" in text for text in options):
        return "".join(char for char in given if char not in first)
    if len(plain) < 2 or options:
        return None
    second = _set(plain[1])
    if not second:
        return None
    second += second[-1] * max(0, len(first) - len(second))
    return given.translate({ord(a): b for a, b in zip(first, second, strict=False)})


def _set(text: str) -> str:
    names = {"[:lower:]": "a-z", "[:upper:]": "A-Z", "[:digit:]": "0-9", "[:space:]": " \t\n"}
    for name, span in names.items():
        text = text.replace(name, span)
    text = unescape(text)
    return re.sub(
        r"(.)-(.)", lambda m: "".join(chr(c) for c in range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 300) + 1)), text
    )
