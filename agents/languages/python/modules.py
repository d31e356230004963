"""Which file a module is, and whether tests can be written for it; every refusal says what there is instead."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from agents.languages.base import NoModule
from agents.languages.python import syntax
from agents.languages.python.test_config import is_test

SHOWN = 20  # modules named in a refusal


def path_of(module: str, files: Sequence[str]) -> str:
    """The file of a module named by path or by dots; raises NoModule."""
    asked = module.strip().removeprefix("./").rstrip("/")
    if asked in files and not asked.endswith(".py"):
        raise NoModule(f"{asked} is not Python: tests are written for Python modules only.{_there(files)}")
    dotted = asked.removesuffix(".py")
    dotted = dotted if "/" in dotted else dotted.replace(".", "/")
    for path in (f"{dotted}.py", f"src/{dotted}.py", f"{dotted}/__init__.py", f"src/{dotted}/__init__.py"):
        if path in files and is_test(path):
            raise NoModule(f"{path} holds tests; name the module that they test.{_there(files)}")
        if path in files:
            return path
    inside = [path for path in files if path.startswith((f"{dotted}/", f"src/{dotted}/"))]
    if dotted and any(path.endswith(".py") and not is_test(path) for path in inside):
        raise NoModule(f"{asked} is a folder, not a module.{_there(inside)}")
    raise NoModule(f"There is no module {asked!r} in this repository.{_there(files, asked)}")


def need_code(path: str, source: str, files: Sequence[str]) -> None:
    """Raise NoModule for a file that does not compile, or that holds nothing which tests could try."""
    try:
        tree = syntax.parse(source)
    except syntax.UNREADABLE as error:
        line = getattr(error, "lineno", None)
        at = f", line {line}" if line else ""
        raise NoModule(f"{path} is not valid Python ({getattr(error, 'msg', error)}{at}): repair it first.") from None
    said = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_text(node)]
    if said:
        return
    folder = path.removesuffix("__init__.py")
    if folder != path:
        inside = [one for one in files if one.startswith(folder) and one != path]
        raise NoModule(f"{folder.rstrip('/')} is a package without code of its own.{_there(inside)}")
    raise NoModule(f"There is nothing to test in {path}: it holds no code but imports.{_there(files)}")


def import_word(path: str) -> str:
    """The word by which other files import it: the file's name, or its folder's for a package."""
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def dotted_name(path: str, importer: str = "") -> str:
    """What to write after `import`."""
    parts = PurePosixPath(path.removeprefix("src/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _there(files: Sequence[str], asked: str = "") -> str:
    """ " There are: …", after the likest one; a big repository is not listed whole."""
    code = [path for path in files if path.endswith(".py") and not is_test(path)]
    known = [path for path in code if not path.endswith("__init__.py")]
    if not known:
        return " It holds no Python module."
    shown = known[:SHOWN]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{_meant(asked, known)} There are: {', '.join(shown)}{more}."


def _meant(asked: str, known: Sequence[str]) -> str:
    names = {name: path for path in known for name in (path, dotted_name(path))}
    near = get_close_matches(asked, names, 1, 0.7) if asked else []
    return f" Did you mean {names[near[0]]}?" if near else ""
