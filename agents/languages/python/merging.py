"""Parts of Python modules put into the modules."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from agents.languages.definitions import CannotMerge, cut_lines
from agents.languages.merging import Body, Merger, Name, by_key
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
    _ModuleMerger(edits).merge(_body_of(was, was.tree.body), _body_of(new, new.tree.body), "")
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
    classes = [node for node in was.body if isinstance(node, ast.ClassDef)]
    owners = [node for node in classes if methods & {name for one in node.body for name, _, _ in names_of(one)}]
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


@dataclass
class _ModuleBody(Body[ast.stmt]):
    """Statements of a text."""

    text: _Text


def _body_of(text: _Text, statements: list[ast.stmt]) -> _ModuleBody:
    return _ModuleBody(statements, by_key(statements, names_of), text)


@dataclass
class _ModuleMerger(Merger[_ModuleBody, ast.stmt]):
    edits: _Edits

    def names(self, statement: ast.stmt) -> Iterable[Name]:
        return names_of(statement)

    def start(self, statement: ast.stmt) -> int:
        return first_line(statement)

    def needed_at_once(self, statement: ast.stmt) -> set[str]:
        functions = [one for one in ast.walk(statement) if isinstance(one, FUNCTION)]
        later = {id(part) for one in functions for line in one.body for part in ast.walk(line)}
        return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and id(one) not in later}

    def signature(self, statement: ast.stmt) -> list[str]:
        parts = (getattr(statement, name, None) for name in ("args", "returns"))
        return [ast.dump(part) for part in parts if isinstance(part, ast.AST)]

    def conditional(self, body: _ModuleBody) -> set[str]:
        return {name for node in body.statements if isinstance(node, COMPOUND) for name in _names_below(node)}

    def to_merge(self, body: _ModuleBody, inside: str) -> list[ast.stmt]:
        """Not imports, docstrings and fillers; of a class its docstring is merged."""
        kept = [node for node in body.statements if not isinstance(node, IMPORT | ast.Pass)]
        docstring = [node for node in body.statements[:1] if inside and _is_docstring(node)]
        return [node for node in kept if not is_typing_block(node) and (not _is_constant(node) or node in docstring)]

    def check(self, old: _ModuleBody, new: _ModuleBody, inside: str) -> None:
        super().check(old, new, inside)
        for key, node in new.keyed.items():
            was = old.keyed.get(key)
            if was is not None and _shares_line(was, old.statements):
                raise CannotMerge(f"{inside}{key[0]} shares its line with other code")
            if was is None and not inside and _is_method(node):
                raise CannotMerge(f"{key[0]} looks like a method and is outside of any class")

    def equivalent(self, statement: ast.stmt, old: _ModuleBody) -> ast.stmt | None:
        if _is_constant(statement):
            first = old.statements[0]
            return first if _is_constant(first) else None
        same = [one for one in old.statements if type(one) is type(statement)]
        equal = next((one for one in same if ast.dump(one) == ast.dump(statement)), None)
        if equal is not None:
            return equal
        if _is_main(statement):
            return next((one for one in same if _is_main(one)), None)
        return _compound_like(statement, old)

    def last_place(self, old: _ModuleBody, statement: ast.stmt) -> ast.stmt | None:
        """The last statement before the call of the program."""
        return next((node for node in reversed(old.statements) if not _is_main(node)), None)

    def below(self, old: _ModuleBody, place: ast.stmt, statement: ast.stmt, inside: str) -> ast.stmt:
        """`place`, or at the top of a file an import further down that the statement needs when it is run."""
        if inside:
            return place
        needed = self.needed_at_once(statement)
        return max([place, *(one for one in old.statements if needed & set(names_imported(one)))], key=first_line)

    def put_before(self, old: _ModuleBody, new: _ModuleBody, near: ast.stmt, statement: ast.stmt, inside: str) -> None:
        text = new.text.text(new.text.above(statement), new.text.last(statement))
        self.edits.insert(old.text.above(near), text + _blank(near, statement, inside))

    def put_after(self, old: _ModuleBody, new: _ModuleBody, near: ast.stmt, statement: ast.stmt, inside: str) -> None:
        text = new.text.text(new.text.above(statement), new.text.last(statement))
        self.edits.insert(old.text.last(near) + 1, _blank(near, statement, inside) + text)

    def replace(self, old: _ModuleBody, new: _ModuleBody, was: ast.stmt, statement: ast.stmt, inside: str) -> None:
        if isinstance(was, ast.ClassDef) and isinstance(statement, ast.ClassDef):
            there, given = _body_of(old.text, was.body), _body_of(new.text, statement.body)
            fills = all(isinstance(one, ast.Pass | ast.Expr) for one in was.body)
            if _class_header(was) == _class_header(statement) and not (fills and was.body[0].lineno == was.lineno):
                self.merge(there, given, f"{inside}{statement.name}.")
                return
            if lost := there.keyed.keys() - given.keyed.keys():
                names = ", ".join(sorted({key[0] for key in lost}))
                raise CannotMerge(f"class {inside}{statement.name} has another head and lacks {names}")
        # The block's own comments replace those around the old definition; without any, the old ones stay.
        first, last = first_line(was), was.end_lineno or was.lineno
        if new.text.above(statement) < first_line(statement):
            first = old.text.above(was)
        if new.text.last(statement) > (statement.end_lineno or statement.lineno):
            last = old.text.last(was)
        text = new.text.text(new.text.above(statement), new.text.last(statement))
        if text.splitlines() != old.text.text(first, last).splitlines():
            self.edits.replace(first, last, text)


def _blank(near: ast.stmt, node: ast.stmt, inside: str) -> str:
    """The blank lines between two statements."""
    close = not any(isinstance(one, DEFINITION) for one in (near, node))
    return "" if close else "\n" if inside else "\n\n"


def _compound_like(statement: ast.stmt, old: _ModuleBody) -> ast.stmt | None:
    names = _names_below(statement) if isinstance(statement, COMPOUND) else set()
    close = [one for one in old.statements if isinstance(one, COMPOUND) and _names_below(one) & names]
    if len(close) == 1 and _names_below(close[0]) <= names and _header(close[0]) == _header(statement):
        return close[0]
    if names and not close and not {key[0] for key in old.keyed} & names:
        return None
    raise CannotMerge("it holds code outside of definitions that the file has not, or has otherwise")


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


def _header(node: ast.stmt) -> str:
    return ast.dump(node.test) if isinstance(node, ast.If | ast.While) else type(node).__name__


def _is_constant(node: ast.stmt) -> TypeGuard[ast.Expr]:
    """A docstring, `...` or another value that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_docstring(node: ast.stmt) -> bool:
    return _is_constant(node) and isinstance(getattr(node.value, "value", None), str)


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _class_header(node: ast.ClassDef) -> list[str]:
    return [ast.dump(part) for part in (*node.decorator_list, *node.bases, *node.keywords)]
