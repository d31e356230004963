"""Which file a module is, and whether tests can be written for it; every refusal says what there is instead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from difflib import get_close_matches

from agents.languages.base import NoModule
from agents.languages.node.bindings import SUFFIXES
from agents.languages.node.definitions import definitions_of
from agents.languages.node.items import items_of
from agents.languages.node.packages import is_for_node
from agents.languages.node.test_files import is_test
from agents.languages.node.text import syntax_error
from agents.languages.node.tree import read

SHOWN = 20  # modules named in a refusal


def path_of(module: str, files: Sequence[str]) -> str:
    """The file of a module named by its path, with or without a suffix; raises NoModule."""
    asked = module.strip().removeprefix("./").rstrip("/")
    if asked in files and not asked.endswith(SUFFIXES):
        raise NoModule(f"{asked} is not JavaScript or TypeScript.{_there(files)}")
    names = [asked, *(f"{asked}{one}" for one in SUFFIXES), *(f"{asked}/index{one}" for one in SUFFIXES)]
    for path in [*names, *(f"src/{name}" for name in names)]:
        if path not in files or not path.endswith(SUFFIXES):
            continue
        if is_test(path):
            raise NoModule(f"{path} holds tests; name the module that they test.{_there(files)}")
        return path
    inside = [path for path in files if path.startswith((f"{asked}/", f"src/{asked}/"))] if asked else []
    if any(_is_module(path) for path in inside):
        raise NoModule(f"{asked} is a folder, not a module.{_there(inside)}")
    raise NoModule(f"There is no module {asked!r} in this repository.{_there(files, asked)}")


def need_code(path: str, source: str, files: Sequence[str]) -> None:
    """Raise NoModule for a file that does not parse, or that holds nothing which tests could try."""
    if path.endswith((".d.ts", ".d.mts", ".d.cts")):
        raise NoModule(f"There is nothing to test in {path}: it only declares types.{_there(files)}")
    if wrong := syntax_error(path, source):
        raise NoModule(f"{path} is not valid JavaScript or TypeScript ({wrong}): repair it first.")
    script = read(path, source)
    if script is None:
        return  # the grammar does not know what it is written with
    typed = ("interface_declaration", "type_alias_declaration")
    items = [one for one in items_of(script.root) if one.sort != "import" and one.node.type not in typed]
    if all(one.sort == "export" for one in items) and not definitions_of(path, source):
        raise NoModule(f"There is nothing to test in {path}: it holds no code of its own.{_there(files)}")


def import_name(path: str, importer: str = "") -> str:
    """What a file beside or above it writes after `from`; of TypeScript the name that the compiled file would have."""
    name = posixpath.relpath(path, posixpath.dirname(importer) or ".")
    name = name if name.startswith(".") else f"./{name}"
    if name.endswith((".tsx", ".jsx")):
        return name[:-4]
    return re.sub(r"\.([cm]?)ts$", r".\1js", name)


def import_word(path: str) -> str:
    """The word by which other files import it: the file's name, or its folder's for an index."""
    parts = path.split("/")
    stem = next((parts[-1].removesuffix(one) for one in SUFFIXES if parts[-1].endswith(one)), parts[-1])
    return parts[-2] if stem == "index" and len(parts) > 1 else stem


def _is_module(path: str) -> bool:
    return is_for_node(path) and not is_test(path) and ".d." not in path and ".config." not in path


def _there(files: Sequence[str], asked: str = "") -> str:
    """ " There are: …", after the likest one; a big repository is not listed whole."""
    known = [path for path in files if _is_module(path)]
    if not known:
        return " It holds no JavaScript or TypeScript module."
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return f"{_meant(asked, known)} There are: {', '.join(known[:SHOWN])}{more}."


def _meant(asked: str, known: Sequence[str]) -> str:
    near = get_close_matches(asked, {name: 1 for path in known for name in (path, import_word(path))}, 1, 0.7)
    path = next((path for path in known if near and near[0] in (path, import_word(path))), "") if asked else ""
    return f" Did you mean {path}?" if path else ""
