"""The code of a fragment out of a model's reply: prose, fences, helpers and example calls around it are accepted.

What cannot be used comes back as a reason in words that its author can act on.
"""

from __future__ import annotations

import ast
import builtins
import io
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.fragments.blueprint import LogicFragment
from agents.languages.python import syntax
from agents.languages.python.undefined import undefined_names
from agents.replies.fences import split

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_MOST_LINES = 400
_TYPING = frozenset({"Any", "Optional", "Union", "List", "Dict"})


@dataclass(frozen=True)
class Statement:
    """One statement of a fragment at module level: its names ("" alone for none) and its text with its comments."""

    names: tuple[str, ...]
    text: str
    is_import: bool = False


class UnusableCode(ValueError):
    """The reply holds no usable code for this fragment; the text says why."""


def read_code(reply: str, function: str, *, truncated: bool = False) -> str:
    """The code in a reply that defines `function`, without example calls. Raises UnusableCode."""
    for text in _candidates(reply):
        try:
            module = syntax.parse(text)
        except syntax.UNREADABLE:
            continue
        if function in _defined(module):
            return _with_imports("\n\n\n".join(part.text for part in parts_of(text, module)).strip() + "\n")
    if truncated:
        raise UnusableCode("the answer was cut off at its limit: write less")
    problem = _first_problem(reply) if "def " in reply else ""
    raise UnusableCode(f"it defines no function {function}" + (f"; {problem}" if problem else ""))


def _candidates(reply: str) -> Iterator[str]:
    """Texts that may be the code, the likeliest first: the fences together, the newest alone, the reply, its middle."""
    blocks = ["\n".join(block.lines) for block in split(reply).blocks]
    if blocks:
        yield "\n\n".join(blocks)
        yield from reversed(blocks)
        return
    yield reply
    lines = reply.splitlines()[:_MOST_LINES]
    starts = ("import ", "from ", "def ", "class ", "@", "async def ")
    begin = next((row for row, line in enumerate(lines) if line.startswith(starts)), None)
    if begin is not None:
        for end in range(len(lines), begin, -1):
            yield "\n".join(lines[begin:end])


def _first_problem(reply: str) -> str:
    text = next((text for text in _candidates(reply)), "")
    try:
        syntax.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno} does not compile: {error.msg}"
    except syntax.UNREADABLE as error:
        return str(error)
    return ""


def _defined(module: ast.Module) -> set[str]:
    return {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _keeps(node: ast.stmt) -> bool:
    """Imports, definitions and constants; calls, prints and `if __name__` are how models show that it works."""
    return isinstance(node, ast.Import | ast.ImportFrom | Definition | ast.Assign | ast.AnnAssign)


def _with_imports(code: str) -> str:
    """The code with imports of the standard library that it plainly forgot: `Any` of typing, `json`, `math`."""
    missing = dict.fromkeys(name for _, name in undefined_names(code))
    lines = [f"from typing import {name}" for name in missing if name in _TYPING]
    lines += [f"import {name}" for name in missing if name in sys.stdlib_module_names]
    return "\n".join([*lines, code]) if lines else code


def parts_of(text: str, module: ast.Module | None = None) -> list[Statement]:
    """The statements that are kept, the imports as one part each, each definition with the comments above it."""
    lines, found, row = text.splitlines(), [], 0
    for node in (module or syntax.module(text)).body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1
        while first > row and lines[first - 1].startswith("#"):
            first -= 1
        row = node.end_lineno or node.lineno
        if not _keeps(node):
            continue
        body = "\n".join(lines[first:row])
        if isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                continue
            body = ast.unparse(node)
        found.append(Statement(tuple(_names_of(node)), body, isinstance(node, ast.Import | ast.ImportFrom)))
    return found


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [one.asname or one.name.partition(".")[0] for one in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [one.id for target in targets if target for one in ast.walk(target) if isinstance(one, ast.Name)]


def logic_problem(code: str, fragment: LogicFragment, packages: Collection[str]) -> str:
    """Why code is not this logic fragment, "" when it is: its signature, what it imports, names that nothing defines.

    `packages` are the modules that it may import beside the standard library.
    """
    module = syntax.module(code)
    node = next((one for one in module.body if isinstance(one, ast.FunctionDef) and one.name == fragment.name), None)
    if node is None:
        return f"{fragment.name} must be a plain function: {fragment.signature}"
    given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    if (
        given != [one.name for one in fragment.parameters]
        or node.args.vararg
        or node.args.kwarg
        or node.args.kwonlyargs
    ):
        return f"the signature stays as it is: {fragment.signature}"
    return _imports_problem(module, packages, pure=True) or _unknown(code)


def ui_problem(code: str, function: str, known: Sequence[str], packages: Collection[str]) -> str:
    """Why code is not this page, "" when it is; `known` are the names that the app defines for it."""
    module = syntax.module(code)
    node = next((one for one in module.body if isinstance(one, ast.FunctionDef) and one.name == function), None)
    if node is None:
        return f"{function} must be a plain function: def {function}() -> None:"
    required = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
    if required or any(default is None for default in node.args.kw_defaults):
        return f"the app calls it without arguments: def {function}() -> None:"
    if again := {*known} & {name for part in parts_of(code) if not part.is_import for name in part.names}:
        return f"{min(again)} is defined already: call it, do not write it again"
    calls = [one.func for one in ast.walk(module) if isinstance(one, ast.Call)]
    if any(isinstance(one, ast.Attribute) and one.attr == "set_page_config" for one in calls):
        return "st.set_page_config is called by the app already: leave it out"
    wrong = _imports_problem(module, {*packages, "streamlit", "logic"}, pure=False)
    return wrong or _unknown(code, {*known, "st"})


def _imports_problem(module: ast.Module, packages: Collection[str], *, pure: bool) -> str:
    for node in ast.walk(module):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else ["."]
        for top in (name.partition(".")[0] for name in names):
            if top == "streamlit" and pure:
                return "a logic fragment knows no Streamlit: it takes values and returns values"
            if top not in sys.stdlib_module_names and top not in packages:
                return f"{top or 'a relative import'} is not there: use the standard library" + (
                    f" or {', '.join(sorted(packages))}" if packages else ""
                )
    return ""


def _unknown(code: str, known: Collection[str] = ()) -> str:
    found = [(line, name) for line, name in undefined_names(code) if name not in known and not hasattr(builtins, name)]
    if not found:
        return ""
    row, name = found[0]  # the line as it stands: its number is that of the code without what was left out
    return f"there is no {name}: {code.splitlines()[row - 1].strip()[:120]}"


def renamed(code: str, names: Mapping[str, str]) -> str:
    """The code with these names replaced wherever they stand as names; attributes stay as they are."""
    lines, before = code.splitlines(keepends=True), ""
    places: list[tuple[int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME and before != "." and token.string in names:
            places.append((token.start[0] - 1, token.start[1], token.string))
        before = token.string
    for row, column, name in reversed(places):
        line = lines[row]
        lines[row] = line[:column] + names[name] + line[column + len(name) :]
    return "".join(lines)


def names_in(code: str) -> set[str]:
    """All names that stand in the code."""
    return {node.id for node in ast.walk(syntax.module(code)) if isinstance(node, ast.Name)}


def same_code(one: str, other: str) -> bool:
    """True for code that differs in nothing but layout and comments."""
    return ast.dump(syntax.module(one)) == ast.dump(syntax.module(other))
