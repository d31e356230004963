"""Python as text: whether it compiles, and what of it is code."""

from __future__ import annotations

import ast
import codecs
import re

from agents.languages import talk
from agents.languages.python import syntax

MAX_PARSED = 100_000  # characters; a longer file is compared as text
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_READ_ALIKE = frozenset({"utf-8", "ascii", "iso8859-1"})  # in which nobody sees a comment where Python sees code
_CODE = re.compile(r"(?:def|class|import|from|async|@|if|for|while|with|try|return)\b|@")
_PROSE = re.compile(r"(?:[#>*-]+\s*|\d{1,2}[.)]\s+)?(?:[A-Z][\w'’]*|\*\*)[^=(]{8,}|`{3,}|~{3,}|#{1,6}\s+[A-Z]")
_HEADINGS = re.compile(r"(?:\s*\n#{2,6}[ ]+[A-Z][^\n]{0,100})+\s*\Z")  # to Python they are comments


def compiles(source: str) -> bool:
    """Is this Python? Nothing is run."""
    try:
        syntax.parse(source)
    except syntax.UNREADABLE:
        return False
    return True


def syntax_error(path: str, source: str) -> str:
    """Line and reason of a file that does not compile; "" for one that does."""
    try:
        compile(source, path, "exec", dont_inherit=True)
    except syntax.UNREADABLE as error:
        line = getattr(error, "lineno", None) or 0
        return f"{path}:{line}: {type(error).__name__}: {error}"
    for number, text in enumerate(re.split(r"\r\n?|\n", source, maxsplit=2)[:2], 1):
        if (found := _COOKIE.match(text)) and not _reads_alike(found[1]):
            return f"{path}:{number}: SyntaxError: files are UTF-8; leave out the encoding {found[1]}"
    return ""


def _reads_alike(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in _READ_ALIKE
    except LookupError:
        return False


def normal(source: str) -> str | None:
    """The file without comments and layout; None for one that does not parse."""
    if len(source) > MAX_PARSED:
        return None
    try:
        return ast.dump(syntax.parse(source))
    except syntax.UNREADABLE:
        return None


def without_talk(source: str) -> str | None:
    """Python without the prose that follows it; None when that is not what is wrong with it."""
    return talk.without_talk(source, compiles, _CODE, _PROSE, _HEADINGS)


def changed_code(old: str, new: str) -> str:
    """`new` with empty bodies for the functions that `old` has too, equal but for layout and at the same place."""
    try:
        was, now = syntax.parse(old), syntax.parse(new)
        known = {(name, ast.dump(node)) for name, node in _functions(was.body)}
        for name, node in _functions(now.body):
            if (name, ast.dump(node)) in known:
                node.body = [ast.Pass()]
        return ast.unparse(now)
    except syntax.UNREADABLE:
        return new


def _functions(body: list[ast.stmt], inside: str = "") -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and of its classes, with their qualified names."""
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((inside + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += _functions(node.body, f"{inside}{node.name}.")
    return found
