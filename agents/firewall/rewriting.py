"""Shell text made digestible before it is parsed: what the parser lacks is rewritten to something equal in effect."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial

_QUOTED_END = re.compile(r"<<-?\s*(?:['\"](\w+)['\"]|\\(\w+))")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_MAX_ROUNDS = 40


def unescape(text: str) -> str:
    r"""Backslash escapes as `$'…'`, `echo -e` and printf read them."""

    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits:
            return chr(min(int(digits, 16), 0x10FFFF))
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        return "" if match[5] else _NAMED.get(match[6], match[6])

    return _ESCAPE.sub(one, text)


def prepare(text: str) -> tuple[str, frozenset[str]]:
    """Text with `$'…'` decoded and here-document ends bare; also the ends that were quoted, whose text is literal."""
    # The parser takes the quotes around a here-document's end word for a part of it.
    bare = set(re.findall(r"<<-?\s*(\w+)", text))
    quoted = {match[1] or match[2] for match in _QUOTED_END.finditer(text)}
    text = _QUOTED_END.sub(
        lambda match: (
            match[0][: match[0].index("<<") + 2] + ("-" if "<<-" in match[0] else "") + (match[1] or match[2])
        ),
        text,
    )
    return _decode_ansi_quotes(text) if "$'" in text else text, frozenset(quoted - bare)


def _decode_ansi_quotes(text: str) -> str:
    done, index, double = [], 0, False
    while index < len(text):
        char = text[index]
        if char == "\\":
            done.append(text[index : index + 2])
            index += 2
        elif char == "'" and not double:
            end = text.find("'", index + 1)
            end = len(text) - 1 if end < 0 else end
            done.append(text[index : end + 1])
            index = end + 1
        elif text.startswith("$'", index) and not double:
            found = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(text, index)
            if not found:
                return text
            done.append(shlex.quote(unescape(found[1])))
            index = found.end()
        else:
            double ^= char == '"'
            done.append(char)
            index += 1
    return "".join(done)


def closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` closes, quotes respected; -1 when it does not."""
    depth, index = 0, start
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif char == "'":
            index = text.find("'", index + 1)
            if index < 0:
                return -1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return index
        index += 1
    return -1


def substitutions(text: str) -> str:
    """All commands that the shell would run for this text, as one word; empty when there are none."""
    found, index = [], 0
    while (index := text.find("$(", index)) >= 0:
        end = closing(text, index + 1)
        if end < 0:
            break
        if not text.startswith("$((", index):
            found.append(text[index : end + 1])
            index = end
        index += 1
    found += re.findall(r"`[^`]*`", text)
    return "".join(found)


def simplify(text: str) -> str:
    """Replace constructs that the parser lacks; the commands inside them are kept."""
    # `time` is a keyword that only measures; a last backslash continues nothing.
    text = re.sub(r"(^|[|;&({]\s*)(?:time\s+(?:-p\s+)?|coproc\s+)(?=\S)", r"\1", text.rstrip("\\ \t\n"))
    text = re.sub(r"\bselect(\s+\w+\s+in\b)", r"for\1", text)
    text = re.sub(r"\$\[[^\]`$]*\]", "0", text)
    # Inside a substitution the parser fails on && and ||; what is run is the same set of commands.
    for opening in ("$(", "<(", ">("):
        text = _each(text, opening, partial(_unjoined, opening))
    text = _each(text, "$((", lambda inside: f"0{substitutions(inside)}")
    text = re.sub(r"\bfor\s*\(\(([^`$]|\$\w+)*?\)\)", "for _ in 0", text)
    text = re.sub(
        r"\[\[\s((?:(?!\]\]).)*)\]\]", lambda m: f"true {substitutions(m[1])}".rstrip() + " ", text, flags=re.DOTALL
    )
    text = _each(text, "((", lambda inside: f"true {substitutions(inside)}".rstrip(), before=r"(^|[\s;&|])$")
    text = _each(text, "=(", lambda inside: f"={substitutions(inside) or '$list'}", before=r"[\w\]+]$")
    text = re.sub(r"(?<=[\w+\]])=\(\s*\)", "=", text)
    text = re.sub(r"(?<![\w$\\'\"])[!@+?*]\([^()`$'\"]*(?:\([^()`$'\"]*\)[^()`$'\"]*)*\)", "*", text)
    text = re.sub(r"\bcase\s+(\S+)\s+in\b(.*?)\besac\b", _case, text, flags=re.DOTALL)
    # find and test group with escaped parentheses; the parser takes some spellings for subshells.
    return re.sub(r"(?<=\s)\\?[()](?=\s)", "'&'", text) if re.search(r"\\[()]", text) else text


def _unjoined(opening: str, inside: str) -> str:
    return opening + re.sub(r"\s*(?:&&|\|\|)\s*", "; ", inside) + ")"


def _each(text: str, opening: str, replace: Callable[[str], str], *, before: str = "") -> str:
    """Rewrite what stands between an opening and its parenthesis."""
    index = 0
    for _ in range(_MAX_ROUNDS):
        index = text.find(opening, index)
        if index < 0:
            break
        if opening == "$(" and text.startswith("$((", index):
            index += 2
            continue
        first = index + opening.index("(")
        end = closing(text, first)
        double = opening.endswith("((")
        if end < 0 or (double and text[end - 1] != ")") or (before and not re.search(before, text[:index])):
            index += 1
            continue
        inside = text[index + len(opening) : end - 1 if double else end]
        new = replace(inside)
        text = text[:index] + new + text[end + 1 :]
        index += len(new)
    return text


def _case(match: re.Match[str]) -> str:
    bodies = []
    for branch in re.split(r";;&?|;&", match[2]):
        _, joint, body = branch.partition(")")
        if joint and body.strip():
            bodies.append(body.strip().rstrip(";"))
    return "{ : " + match[1] + "; " + "; ".join(bodies) + "; }" if bodies else "true"
