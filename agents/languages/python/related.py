"""Which tests can notice a change: those that import the changed modules, directly or through others."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from agents.languages.python import syntax
from agents.languages.python.test_config import is_test_file


def related_tests(files: Mapping[str, str], changed: Collection[str], roots: Sequence[str]) -> list[str]:
    """The test files, of all Python `files`, that the changed ones reach by imports; `roots` stand on the path.

    [] when that cannot be told: something other than Python changed, or no test imports it by name.
    """
    if not changed or any(path not in files for path in changed):
        return []
    places: dict[str, set[str]] = defaultdict(set)
    for path in files:
        for name in _names(path, roots):
            places[name].add(path)
    users: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        for name in _imported(path, text):
            for used in places.get(name, ()):
                users[used].add(path)
    reached, queue = set(changed), [*changed]
    while queue:
        path = queue.pop()
        # A conftest is imported by every test below it, without a word of it in them.
        below = path.removesuffix("conftest.py") if path.endswith("conftest.py") else None
        more = users[path] | ({one for one in files if one.startswith(below)} if below is not None else set())
        queue += more - reached
        reached |= more
    return sorted(path for path in reached if is_test_file(path))


def _names(path: str, roots: Sequence[str]) -> Iterator[str]:
    """What other files may call this one: from the workspace, from a root, and from the folder where it stands."""
    folder, _, _ = path.rpartition("/")
    for root in ("", *roots, folder):
        if path.startswith(f"{root}/" if root else ""):
            inside = path[len(root) + 1 if root else 0 :].removesuffix(".py").removesuffix("/__init__")
            yield inside.replace("/", ".")


def _imported(path: str, text: str) -> Iterator[str]:
    package = path.split("/")[:-1]
    for node in ast.walk(syntax.module(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from _with_packages(module)
            yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)


def _with_packages(name: str) -> Iterator[str]:
    """The module and the packages above it, whose `__init__` runs first."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))
