"""What scanned modules use of other modules of the project: what their names mean can be told only with it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agents.languages.python import syntax
from agents.languages.python.flow.resolve import is_standard, prefixes
from agents.languages.python.imports import is_typing_block

_MOST, _MOST_BYTES = 100, 1_000_000
_MOST_TRIED = 20_000
_STAR = "*"


@dataclass(eq=False, slots=True)
class _ModulePart:
    """A statement at the top of a module: the names that it gives a meaning, and what it uses."""

    node: ast.stmt | ast.Module
    gives: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    imports: list[tuple[str, str]] = field(default_factory=list)  # a file, and which of its names; "" for attributes


class _Module:
    """What is used of one module."""

    def __init__(self, parts: Iterable[_ModulePart]) -> None:
        self.names: set[str] = set()
        self.used: dict[_ModulePart, None] = {}
        self.attributes: set[str] = set()
        self.giving: dict[str, list[_ModulePart]] = {}
        for part in parts:
            for name in part.gives:
                self.giving.setdefault(name, []).append(part)

    def use(self, names: set[str]) -> Iterator[tuple[str, set[str]]]:
        """Take what gives the names a meaning; gives which names of which files that needs, if it is more."""
        if names <= self.names:
            return
        self.attributes |= names
        waiting = [*names, _STAR, "__getattr__"]
        while waiting:
            name = waiting.pop()
            self.names.add(name)
            for part in self.giving.pop(name, ()):
                if part not in self.used:
                    self.used[part] = None
                    self.attributes |= part.attributes
                    waiting += part.names - self.names
        for part in self.used:
            for file, name in part.imports:
                yield file, {name} if name.strip(_STAR) else self.names if name else self.attributes


def imported(
    scanned: Iterable[tuple[str, ast.Module]], read: Callable[[str], bytes | None]
) -> tuple[dict[str, ast.Module], bool]:
    """By path, the statements of other modules that these may use, nearest first; and whether that is all of them.

    `read` gives the content of a file below the root, or None.
    """
    modules: dict[str, _Module | None] = {}
    asked: dict[str, set[str]] = {}  # in the order in which it is asked
    for path, tree in scanned:
        part = _part(tree, path)
        modules[path] = None
        if len(part.imports) > _MOST_TRIED:
            return {}, False
        for file, name in part.imports:
            asked.setdefault(file, set()).update({name} if name.strip(_STAR) else part.names | part.attributes)
    left, tried, count = _MOST_BYTES, 0, 0
    while asked:
        path = next(iter(asked))
        names = asked.pop(path)
        if path not in modules:
            data = read(path)
            left, tried, count = left - len(data or b""), tried + 1, count + (data is not None)
            if left < 0 or count > _MOST or tried > _MOST_TRIED:
                return _used(modules), False
            modules[path] = _Module([*_parts(data, path)]) if data is not None else None
        if module := modules[path]:
            for file, wanted in module.use(names):
                asked.setdefault(file, set()).update(wanted)
    return _used(modules), True


def _used(modules: dict[str, _Module | None]) -> dict[str, ast.Module]:
    statements = {path: [part.node for part in one.used] for path, one in modules.items() if one}
    return {
        path: ast.Module([one for one in many if isinstance(one, ast.stmt)], []) for path, many in statements.items()
    }


def _parts(data: bytes, path: str) -> Iterator[_ModulePart]:
    waiting: list[ast.stmt] = [*syntax.module(data).body]
    for node in waiting:
        if is_typing_block(node):
            continue
        if isinstance(node, ast.If | ast.Try | ast.With):
            waiting += [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            waiting += [one for handler in getattr(node, "handlers", ()) for one in handler.body]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = (
                    ast.Import([alias])
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(node.module, [alias], node.level)
                )
                yield _part(ast.copy_location(one, node), path)
        else:
            yield _part(node, path)


def _part(tree: ast.Module | ast.stmt, path: str) -> _ModulePart:
    part = _ModulePart(tree)
    above = [str(one) for one in PurePosixPath(path).parents]
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                part.names.add(name)
            case ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                part.attributes.add(name)
            case ast.Import(names=names):
                for alias in names:
                    part.names.add(alias.asname or alias.name.partition(".")[0])
                    part.imports += [(file, "") for one in prefixes(alias.name) for file in _files(one, above)]
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    part.names.add(alias.asname or alias.name)
                    part.imports += [(file, alias.name) for file in _files(module or "", above, level)]
                    inner = f"{module or ''}.{alias.name}".strip(".")
                    part.imports += [(file, "") for file in _files(inner, above, level)]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module" | "__import__"),
                args=[ast.Constant(value=str() as name), *_],
            ):
                part.imports += [(file, "") for file in _files(name, above)]
    part.gives = _given_names(tree, part.names)
    return part


def _given_names(tree: ast.Module | ast.stmt, names: set[str]) -> set[str]:
    """What a statement binds; `names` are all that it mentions."""
    match tree:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return names


def _files(name: str, above: list[str], level: int = 0) -> Iterator[str]:
    """The files that an import may mean, from the folders above the importer."""
    folders = above[level - 1 : level] if level else ["."] if is_standard(name) else [*above, "src"]
    parts = name.split(".") if name else []
    if all(map(str.isidentifier, parts)):
        for folder in folders:
            place = PurePosixPath(folder, *parts)
            yield from (str(place / "__init__.py"), *([f"{place}.py"] if parts else []))
