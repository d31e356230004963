"""Which names inside a function cannot hold what somebody outside wrote: constants, table entries, checked values."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

from agents.languages.python import syntax

_CONSTANT_NAME = re.compile(r"^_?[A-Z][A-Z0-9_]*$")
_HTTPS = "https://"
_PASSES = 4  # a name may be settled by another one; nobody needs longer chains


def around(module: ast.Module, line: int) -> ast.AST:
    """The innermost function that holds the line, else the module."""
    functions = [
        n for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and _holds(n, line)
    ]
    return max(functions, key=lambda node: node.lineno, default=module)


def sql_is_settled(data: bytes, line: int) -> bool:
    """True when every part put into the text of the statement at this line is settled."""
    module = syntax.module(data)
    scope = around(module, line)
    names = _names(scope) | (_names(module, inside=False) - _bound(scope) if scope is not module else set())
    texts = [n for n in ast.walk(scope) if isinstance(n, ast.JoinedStr | ast.BinOp) and _holds(n, line)]
    parts = [part for text in texts for part in _parts(text)]
    return bool(parts) and all(_is_settled(part, names) for part in parts)


def address_is_checked(data: bytes, line: int) -> bool:
    """True when `urlopen` at this line opens an address with a fixed https start or a checked scheme."""
    module = syntax.module(data)
    scope = around(module, line)
    if any(isinstance(node, ast.Compare) and "scheme" in ast.unparse(node) for node in ast.walk(scope)):
        return True
    starts = {
        target.id
        for node in [*module.body, *ast.walk(scope)]
        if isinstance(node, ast.Assign) and _starts_with_https(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(scope):  # request = Request(ADDRESS, …); urlopen(request)
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args):
            continue
        if ast.unparse(node.value.func).endswith("Request") and _starts_with_https(node.value.args[0], starts):
            starts |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and n.lineno == line and n.args]
    return any(_starts_with_https(call.args[0], starts) for call in calls)


def first_argument_is_constant(data: bytes, line: int, method: str) -> bool:
    """True when every call of the method at this line is given a written-out text."""
    calls = [n for n in ast.walk(syntax.module(data)) if isinstance(n, ast.Call) and _holds(n, line)]
    calls = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == method]
    return bool(calls) and all(call.args and isinstance(call.args[0], ast.Constant) for call in calls)


def reads_own_pickle(data: bytes, line: int) -> bool:
    """True when every `loads` at this line is given what `dumps` made in the same function: no stranger's data."""
    nodes = list(ast.walk(around(syntax.module(data), line)))
    targets = [
        each for node in nodes if isinstance(node, ast.Assign) and _calls(node.value, "dumps") for each in node.targets
    ]
    made = [each.id for each in targets if isinstance(each, ast.Name)]
    times = _times_bound(nodes)
    own = {name for name in made if times[name] == made.count(name)}
    given = [node.args[0] if node.args else None for node in nodes if _calls(node, "loads", line)]
    return bool(given) and all(
        _calls(text, "dumps") or (isinstance(text, ast.Name) and text.id in own) for text in given
    )


def _times_bound(nodes: Sequence[ast.AST]) -> Counter[str]:
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return Counter([*names, *(node.arg for node in nodes if isinstance(node, ast.arg))])


def _calls(node: ast.AST | None, name: str, line: int = 0) -> TypeGuard[ast.Call]:
    """Whether it calls a function or method of this name, at this line if one is named."""
    if not isinstance(node, ast.Call) or (line and not _holds(node, line)):
        return False
    return getattr(node.func, "attr", getattr(node.func, "id", "")) == name


def _holds(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _parts(text: ast.expr) -> list[ast.expr]:
    """What is put into a text: the values of an f-string, the operands of `+` and `%`."""
    if isinstance(text, ast.JoinedStr):
        return [value.value for value in text.values if isinstance(value, ast.FormattedValue)]
    if isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add | ast.Mod):
        return [*_parts(text.left), *_parts(text.right)]
    if isinstance(text, ast.Tuple):
        return list(text.elts)
    return [] if isinstance(text, ast.Constant) else [text]


def _bound(scope: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)}


def _names(scope: ast.AST, *, inside: bool = True) -> set[str]:
    """Names of this scope that are settled, by what they are given or by a check that they pass.

    With `inside` False nothing within the functions of a module counts.
    """
    nodes = list(ast.walk(scope)) if inside else list(ast.iter_child_nodes(scope))
    stored = Counter(n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    stored.update(n.arg for n in ast.walk(scope) if isinstance(n, ast.arg))
    checked = {name for node in nodes if isinstance(node, ast.If) for name in _checked(node.test)}
    given: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(node.value)
    # A name that is also a parameter, a loop's or bound in another way holds more than what is seen here.
    whole = {name: values for name, values in given.items() if len(values) == stored[name]}
    names = set(checked)
    for _ in range(_PASSES):
        names |= {name for name, values in whole.items() if all(_is_settled(value, names) for value in values)}
    return names


def _checked(test: ast.expr) -> set[str]:
    """`name in ALLOWED`, `name not in {"a", "b"}`: what is compared with a fixed list."""
    return {
        node.left.id
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name)
        if isinstance(node.ops[0], ast.In | ast.NotIn) and _is_table(node.comparators[0])
    }


def _is_table(node: ast.expr) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return bool(_CONSTANT_NAME.match(name))
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) and all(isinstance(one, ast.Constant) for one in node.elts)
    return isinstance(node, ast.Dict) and all(isinstance(one, ast.Constant) for one in node.values)


def _is_settled(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return node.id in names or bool(_CONSTANT_NAME.match(node.id))
    if isinstance(node, ast.JoinedStr | ast.BinOp):
        return all(_is_settled(part, names) for part in _parts(node))
    if isinstance(node, ast.IfExp):
        return _is_settled(node.body, names) and _is_settled(node.orelse, names)
    if isinstance(node, ast.Subscript):
        return _is_table(node.value)
    if isinstance(node, ast.Call):
        return _call_is_settled(node, names)
    if isinstance(node, ast.Tuple | ast.List):
        return all(_is_settled(one, names) for one in node.elts)
    return isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp) and _comprehended(node, names)


def _call_is_settled(call: ast.Call, names: set[str]) -> bool:
    if isinstance(call.func, ast.Name):
        if call.func.id in ("int", "float", "len"):
            return True
        return call.func.id in ("sorted", "list", "tuple", "set") and all(_is_settled(a, names) for a in call.args)
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "get":
        return _is_table(call.func.value) and all(_is_settled(one, names) for one in call.args[1:])
    if call.func.attr == "join" and len(call.args) == 1:
        argument = call.args[0]
        if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Mult):  # ",".join(["?"] * len(ids))
            argument = argument.left
        return isinstance(call.func.value, ast.Constant) and _is_settled(argument, names)
    return False


def _comprehended(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, names: set[str]) -> bool:
    """`", ".join(f"{name} = ?" for name in FIELDS)`: each member comes from a fixed list, or is itself fixed."""
    local = set(names)
    for loop in node.generators:
        if isinstance(loop.target, ast.Name):
            fixed = _is_table(loop.iter) or _is_settled(loop.iter, local)
            if fixed or any(loop.target.id in _checked(test) for test in loop.ifs):
                local.add(loop.target.id)
            else:
                local.discard(loop.target.id)
    return _is_settled(node.elt, local)


def _starts_with_https(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.startswith(_HTTPS)
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _starts_with_https(
            node.values[0].value if isinstance(node.values[0], ast.FormattedValue) else node.values[0], names
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return _starts_with_https(node.left, names)
    return isinstance(node, ast.Name) and node.id in names
