"""A part of a module put into the module: definitions of the same name are replaced, new ones added.

Lines of the module that the part does not speak of stay byte for byte. What is not clear is refused: overloads in
another number, a function that the module defines under a condition, other code at module level.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from agents.languages.definitions import CannotMerge, cut_lines
from agents.languages.python import syntax
from agents.languages.python.definitions import (
    COMPOUND,
    DEFINITION,
    FUNCTION,
    blocks_of,
    defined_tests,
    first_line,
    lines_of,
    names_bound,
    names_imported,
    names_of,
)
from agents.languages.python.imports import add_imports, is_typing_block

_COMMENT = re.compile(r"[ \t]*#")
Key = tuple[str, str, str, int]  # name, kind, role, ordinal
IMPORT = ast.Import | ast.ImportFrom


@dataclass
class _Text:
    """A parsed text and its lines."""

    source: str
    lines: list[str] = field(init=False)
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.lines, self.tree = lines_of(self.source), syntax.parse(self.source)

    def above(self, node: ast.stmt) -> int:
        """The first line of the comments that stand directly above a statement, else its own first line."""
        row = first_line(node)
        while row > 1 and _COMMENT.match(self.lines[row - 2]) and not self.lines[row - 2].startswith("#!"):
            row -= 1
        return row

    def last(self, node: ast.stmt) -> int:
        """The last line of a statement with the comments that are indented as its body."""
        row = end = node.end_lineno or node.lineno
        if not isinstance(node, DEFINITION):
            return end
        while row < len(self.lines) and (not self.lines[row].strip() or _COMMENT.match(self.lines[row])):
            row += 1
            if self.lines[row - 1].strip():
                if len(self.lines[row - 1]) - len(self.lines[row - 1].lstrip()) <= node.col_offset:
                    break
                end = row
        return end

    def text(self, first: int, last: int) -> str:
        part = "".join(self.lines[first - 1 : last])
        return part if part.endswith("\n") else f"{part}\n"


@dataclass
class _Edits:
    """Replacements and insertions by line; applied from the end, so that line numbers stay as they are."""

    changes: list[tuple[int, int, int, str]] = field(default_factory=list)  # first, last (first - 1: insert), order

    def replace(self, first: int, last: int, text: str) -> None:
        self.changes.append((first, last, len(self.changes), text))

    def insert(self, before: int, text: str) -> None:
        self.changes.append((before, before - 1, len(self.changes), text))

    def applied(self, lines: Sequence[str]) -> str:
        out, newline = list(lines), "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        # An insertion before a line comes before what replaces that line; several keep their order.
        for first, last, _, text in sorted(self.changes, key=lambda one: (one[0], one[1], one[2]), reverse=True):
            new = [line.rstrip("\r\n") + newline for line in lines_of(text)]
            if first > 1 and out[first - 2 : first - 1] and not out[first - 2].endswith(("\n", "\r")):
                out[first - 2] += newline
            out[first - 1 : last] = new
        return "".join(out)


def merged(path: str, old: str, part: str) -> str:
    """The module `old` with the definitions of `part`. Raises CannotMerge."""
    try:
        was, new = _Text(old), _Text(_in_its_class(old, part))
    except syntax.UNREADABLE as error:
        raise CannotMerge(f"it does not parse ({error})") from None
    edits = _Edits()
    _merge_body(was, new, was.tree.body, new.tree.body, "", edits)
    add_imports(path, was.tree, new.tree, edits.insert)
    text = edits.applied(was.lines)
    try:
        syntax.parse(text)
    except syntax.UNREADABLE:
        raise CannotMerge("together with the rest of the file it does not compile") from None
    return text


def _in_its_class(old: str, part: str) -> str:
    """Methods without the line of their class, put below it when one class of `old` alone has such methods."""
    bare = textwrap.dedent(part)
    try:
        was, new = syntax.parse(old), syntax.parse(bare)
    except syntax.UNREADABLE:
        return part
    methods = {node.name for node in new.body if _is_method(node)}
    owners = [
        node for node in was.body if isinstance(node, ast.ClassDef) and methods & {key[0] for key in _keyed(node.body)}
    ]
    if len(owners) != 1 or not all(map(_is_method, new.body)):
        return part
    head = lines_of(old)[first_line(owners[0]) - 1 : first_line(owners[0].body[0]) - 1]
    return "".join(head) + textwrap.indent(bare, " " * owners[0].body[0].col_offset)


def _is_method(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    if not isinstance(node, FUNCTION):
        return False
    first = next((one.arg for one in [*node.args.posonlyargs, *node.args.args]), "")
    # Of a test `cls` may be a fixture, and a decorator that names the argument brings it.
    given = f"value='{first}" in "".join(map(ast.dump, node.decorator_list))
    return first in ("self", "cls") and not given and (first, node.name[:4]) != ("cls", "test")


def new_part(old: str, new: str, *, helpers: bool) -> str:
    """`new` without the tests that `old` has too, and without its other definitions unless `helpers`; "" for none.

    A test that has only got another name is one that `old` has.
    """
    try:
        was, text = syntax.parse(old), _Text(new)
    except syntax.UNREADABLE:
        return ""
    known, bodies = {name for name, _ in defined_tests(was.body)}, {_body(node) for _, node in defined_tests(was.body)}
    known |= {name for name, node in defined_tests(text.tree.body) if _body(node) in bodies}
    there = {name for node in was.body for name, _, _ in names_of(node)}
    gone = [node for name, node in defined_tests(text.tree.body) if name in known]
    for node in text.tree.body:
        names, tests = {name for name, _, _ in names_of(node)}, {name for name, _ in defined_tests([node])}
        if tests:
            gone += [node] if tests <= known else []
        elif not helpers and (_is_loose(node) or (names and names <= there)):
            gone.append(node)
    if not {name for name, _ in defined_tests(text.tree.body)} - known:
        return ""
    left = list(text.lines)
    for node in gone:
        cut_lines(left, text.above(node), text.last(node))
    return "".join(left)


def _body(node: ast.AST) -> str:
    """What a definition does, without its name."""
    return "".join(ast.dump(part) for name, part in ast.iter_fields(node) if name == "args") + "".join(
        ast.dump(part) for part in getattr(node, "body", ())
    )


def _is_loose(node: ast.stmt) -> bool:
    """Code at module level that defines nothing; that of the file stays."""
    return not isinstance(node, IMPORT | DEFINITION) and not names_of(node)


def borrows(old: str, part: str) -> bool:
    """True when `part` uses names that it neither defines nor imports, and `old` does: it is no file of its own."""
    try:
        was, new = syntax.parse(old), syntax.parse(part)
    except syntax.UNREADABLE:
        return False
    bound = {*names_bound(ast.walk(new)), *(name for node in ast.walk(new) for name in names_imported(node))}
    used = {node.id for node in ast.walk(new) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    top: list[ast.AST] = [
        one for node in was.body for one in (ast.walk(node) if isinstance(node, COMPOUND) else [node])
    ]
    there = {*names_bound(top), *(name for node in top for name in names_imported(node))}
    there |= {name for node in top if isinstance(node, ast.stmt) for name, _, _ in names_of(node)}
    return bool((used - bound) & there)


def _merge_body(
    was: _Text, new: _Text, old_body: list[ast.stmt], new_body: list[ast.stmt], inside: str, edits: _Edits
) -> None:
    there, given = _keyed(old_body), _keyed(new_body)
    _check(old_body, new_body, there, given, inside)
    place: ast.stmt | None = None  # the last statement of the old body that the part speaks of
    waiting: list[ast.stmt] = []  # new statements before the first such
    done: set[int] = set()
    matches = [(node, _counterpart(node, there, given, old_body)) for node in _statements(new_body, inside)]
    for node, match in matches:
        if match is None:
            names = {name for name, _, _ in names_of(node)}
            users = [one for other, one in matches if one is not None and names & _needed_at_once(other)]
            user = min(users, key=first_line, default=None)
            if user is not None and (place is None or first_line(user) <= first_line(place)):
                edits.insert(was.above(user), _added(was, new, user, node, inside, after=False))
            elif place is None:
                waiting.append(node)
            else:
                near = place if inside else _below_imports(old_body, place, node)
                edits.insert(was.last(near) + 1, _added(was, new, near, node, inside, after=True))
            continue
        if id(match) not in done:
            done.add(id(match))
            _replace(was, new, match, node, inside, edits)
        for one in waiting:
            edits.insert(was.above(match), _added(was, new, match, one, inside, after=False))
        place, waiting = match, []
    end = _end(old_body)
    for one in waiting:
        if end is None:
            raise CannotMerge("the file holds nothing beside which its definitions could stand")
        edits.insert(was.last(end) + 1, _added(was, new, end, one, inside, after=True))


def _below_imports(body: list[ast.stmt], place: ast.stmt, node: ast.stmt) -> ast.stmt:
    """The statement after which a new one stands: `place`, or an import further down that it needs when it is run."""
    needed = _needed_at_once(node)
    return max([place, *(one for one in body if needed & set(names_imported(one)))], key=first_line)


def _needed_at_once(node: ast.stmt) -> set[str]:
    """Names that a statement reads when it is run; the body of a function runs later."""
    functions = [one for one in ast.walk(node) if isinstance(one, FUNCTION)]
    later = {id(part) for one in functions for line in one.body for part in ast.walk(line)}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in later}


def _statements(body: list[ast.stmt], inside: str) -> list[ast.stmt]:
    """What is merged one by one: not imports, docstrings and fillers."""
    kept = [node for node in body if not isinstance(node, IMPORT | ast.Pass) and not is_typing_block(node)]
    return [
        node
        for node in kept
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (inside and node is body[0] and isinstance(node.value.value, str))
    ]


def _keyed(body: Iterable[ast.stmt]) -> dict[Key, ast.stmt]:
    counts: Counter[tuple[str, str, str]] = Counter()
    found: dict[Key, ast.stmt] = {}
    for node in body:
        for one in names_of(node):
            found[*one, counts[one]] = node
            counts[one] += 1
    return found


def _check(
    old_body: list[ast.stmt],
    new_body: list[ast.stmt],
    there: dict[Key, ast.stmt],
    given: dict[Key, ast.stmt],
    inside: str,
) -> None:
    """Raise CannotMerge where the part may mean more than one thing."""
    conditional = {name for node in old_body if isinstance(node, COMPOUND) for name in _names_below(node)}
    for one in {key[:3] for key in given}:
        full = f"{inside}{one[0]}"
        in_file, in_part = (sum(key[:3] == one for key in keys) for keys in (there, given))
        if one[0] in conditional:
            raise CannotMerge(f"{full} is defined under a condition in the file")
        if in_file and in_file != in_part:
            raise CannotMerge(f"{full} is defined {in_file} times in the file and {in_part} times in the block")
        if not in_file and not one[2] and any(key[0] == one[0] for key in there):
            raise CannotMerge(f"{full} is not a {one[1]} in the file")
        in_file, in_part = (sum(key[0] == one[0] and key[2] == "overload" for key in keys) for keys in (there, given))
        if in_file != in_part and any(key[0] == one[0] for key in there):
            body = one[0], "function", "", 0
            if not in_part and body in there and body in given and _signature(there[body]) == _signature(given[body]):
                continue  # what is overloaded has the signature that the overloads were written for
            raise CannotMerge(f"{full} has {in_file} overloads in the file and {in_part} in the block")
    for key, node in given.items():
        old = there.get(key)
        if old is not None and _shares_line(old, old_body):
            raise CannotMerge(f"{inside}{key[0]} shares its line with other code")
        if old is None and not inside and _is_method(node):
            raise CannotMerge(f"{key[0]} looks like a method and is outside of any class")


def _signature(node: ast.stmt) -> list[str]:
    return [ast.dump(part) for name in ("args", "returns") if isinstance(part := getattr(node, name, None), ast.AST)]


def _names_below(node: ast.stmt) -> set[str]:
    found: set[str] = set()
    for body in blocks_of(node):
        for one in body:
            found |= {name for name, _, _ in names_of(one)}
            if isinstance(one, COMPOUND):
                found |= _names_below(one)
    return found


def _shares_line(node: ast.stmt, body: list[ast.stmt]) -> bool:
    return any(
        one is not node and (first_line(node) <= (one.end_lineno or 0) and first_line(one) <= (node.end_lineno or 0))
        for one in body
    )


def _counterpart(
    node: ast.stmt, there: dict[Key, ast.stmt], given: dict[Key, ast.stmt], old_body: list[ast.stmt]
) -> ast.stmt | None:
    """The statement of the old body that this one stands for; None for a new one. Raises CannotMerge."""
    keys = [key for key, one in given.items() if one is node]
    if keys:
        found = {id(there[key]): there[key] for key in keys if key in there}
        if len(found) > 1 or (found and any(key not in there for key in keys)):
            raise CannotMerge(f"{keys[0][0]} and others are assigned together")
        return next(iter(found.values()), None)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        first = old_body[0]
        return first if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
    same = [one for one in old_body if type(one) is type(node)]
    equal = next((one for one in same if ast.dump(one) == ast.dump(node)), None)
    if equal is not None:
        return equal
    if isinstance(node, COMPOUND):
        names = _names_below(node)
        if _is_main(node):
            return next((one for one in same if _is_main(one)), None)
        close = [one for one in old_body if isinstance(one, COMPOUND) and _names_below(one) & names]
        if len(close) == 1 and _names_below(close[0]) <= names and _header(close[0]) == _header(node):
            return close[0]
        if names and not close and not {key[0] for key in there} & names:
            return None
    raise CannotMerge("it holds code outside of definitions that the file has not, or has otherwise")


def _header(node: ast.stmt) -> str:
    return ast.dump(node.test) if isinstance(node, ast.If | ast.While) else type(node).__name__


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _replace(was: _Text, new: _Text, old: ast.stmt, node: ast.stmt, inside: str, edits: _Edits) -> None:
    if isinstance(old, ast.ClassDef) and isinstance(node, ast.ClassDef):
        fills = all(isinstance(one, ast.Pass | ast.Expr) for one in old.body)
        if _class_header(old) == _class_header(node) and not (fills and old.body[0].lineno == old.lineno):
            _merge_body(was, new, old.body, node.body, f"{inside}{node.name}.", edits)
            return
        if lost := _keyed(old.body).keys() - _keyed(node.body).keys():
            names = ", ".join(sorted({key[0] for key in lost}))
            raise CannotMerge(f"class {inside}{node.name} has another head and lacks {names}")
    # The block's own comments replace those around the old definition; without any, the old ones stay.
    first, last = first_line(old), old.end_lineno or old.lineno
    if new.above(node) < first_line(node):
        first = was.above(old)
    if new.last(node) > (node.end_lineno or node.lineno):
        last = was.last(old)
    text = new.text(new.above(node), new.last(node))
    if text.splitlines() != was.text(first, last).splitlines():
        edits.replace(first, last, text)


def _class_header(node: ast.ClassDef) -> list[str]:
    return [ast.dump(part) for part in (*node.decorator_list, *node.bases, *node.keywords)]


def _added(was: _Text, new: _Text, near: ast.stmt, node: ast.stmt, inside: str, *, after: bool) -> str:
    """A new statement with the blank lines between it and its neighbour."""
    text = new.text(new.above(node), new.last(node))
    close = not any(isinstance(one, DEFINITION) for one in (near, node))
    blank = "" if close else "\n" if inside else "\n\n"
    return blank + text if after else text + blank


def _end(body: list[ast.stmt]) -> ast.stmt | None:
    """The statement after which a new one stands: the last before the call of the program."""
    rest = [node for node in body if not _is_main(node)]
    return rest[-1] if rest else None
