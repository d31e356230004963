"""Code that could make failing tests look green: not proof of intent, and enough to ask a person."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agents.languages.node.bindings import SUFFIXES, bindings_of
from agents.languages.node.definitions import bound_names
from agents.languages.node.items import arguments, loaded, test_call
from agents.languages.node.test_files import is_setup, is_test
from agents.languages.node.tree import FUNCTIONS, dotted, field, read, string_value, walk
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STOPS = frozenset({"process.reallyExit", "process.abort", "process.dlopen", "process.binding"})
_RUNNERS = re.compile(
    r"(?:node:)?test(?:/.*)?|vitest(?!/config$)(?:/.*)?|@vitest/.*|jest|@jest/.*|mocha|ava|tap|sinon|chai"
)
_CONFIGS = re.compile(r"(?:^|/)(?:vite|vitest|jest|eslint|playwright)\.config\.[cm]?[jt]s$")
_GLOBALS = frozenset("assert expect test it describe suite beforeEach afterEach jest vi chai should".split())
_PROTECTED = re.compile(
    r"(?:globalThis|global|window)\.(?:assert|expect|test|it|describe|suite|beforeEach|afterEach|jest|vi)(?:\..*)?"
    r"|(?:assert|expect|chai)\..+|(?:Object|Error|Function|Promise|Array|Map|Set|Reflect)\.(?:is|keys|prototype\..+)"
    r"|(?:Error|AssertionError)\.prototype\..+"
)
_LOADER = re.compile(
    r"(?:Module|module\.constructor)(?:\.prototype)?\.(?:_load|_resolveFilename|_extensions|_compile|require)"
    r"|require\.(?:cache|extensions)|(?:process\.(?:exit|on|exitCode|hrtime|stdout\.write|stderr\.write))"
)
_HOOKS = ("module.register", "module.registerHooks", "Module.register", "Module.registerHooks", "registerHooks")
_ALIKE = frozenset({"asymmetricMatch", "$$typeof"})
_MOCKS = frozenset({"jest.mock", "vi.mock", "jest.doMock", "vi.doMock", "mock.module", "jest.unstable_mockModule"})


def forgeries(path: str, source: str) -> list[str]:
    """What in this file decides how tests run or compare, each in a few words; [] for text that does not parse."""
    script = read(path, source)
    if script is None:
        return []
    in_tests = is_test(path)
    found = set(_of_names(path, script.root, in_tests=in_tests))
    for node in walk(script.root):
        found |= set(_in(path, node, in_tests=in_tests))
    return sorted(found)


def _of_names(path: str, root: Node, *, in_tests: bool) -> Iterator[str]:
    """Runners that code imports, and names of runners that it uses though nothing in it binds them."""
    if in_tests or _CONFIGS.search(path):
        return
    for node in walk(root):
        taken = loaded(node) if node.type in ("call_expression", "await_expression") else None
        if taken is not None and _RUNNERS.fullmatch(taken[0]):
            yield f"imports {taken[0]}"
    for one in bindings_of(root):
        if _RUNNERS.fullmatch(one.module) and not one.typing:
            yield f"imports {one.module}"
    bound = bound_names(root)
    for node in walk(root):
        if node.type == "identifier" and text_of(node) in _GLOBALS - bound:
            yield f"uses {text_of(node)} of the test runner"


def _in(path: str, node: Node, *, in_tests: bool) -> Iterator[str]:
    if node.type in ("assignment_expression", "augmented_assignment_expression"):
        yield from _set(node)
    elif node.type == "unary_expression" and any(one.type == "delete" for one in node.children):
        target = dotted(field(node, "argument"))
        if _LOADER.match(target) or _PROTECTED.fullmatch(target):
            yield f"deletes {target}"
    elif node.type in ("method_definition", "pair", "public_field_definition", "field_definition"):
        name = field(node, "name") or field(node, "key") or field(node, "property")
        words = text_of(name).strip("\"'[]") if name is not None else ""
        if words in _ALIKE or words == "Symbol.hasInstance":
            yield f"{words} can call everything equal"
    elif node.type == "call_expression":
        yield from _called(path, node, in_tests=in_tests)


def _set(node: Node) -> Iterator[str]:
    left = field(node, "left")
    target = dotted(left)
    if left is not None and left.type == "subscript_expression":
        target = dotted(field(left, "object"))
    value = field(node, "right")
    if target == "process.exitCode":
        if value is None or text_of(value) in ("0", "undefined", "null"):
            yield "sets process.exitCode to success"
    elif target and (_PROTECTED.fullmatch(target) or _LOADER.fullmatch(target)):
        yield f"sets {target}"


def _called(path: str, node: Node, *, in_tests: bool) -> Iterator[str]:
    function, given = dotted(field(node, "function")), arguments(node)
    if function in _STOPS or function in _HOOKS:
        yield f"calls {function}"
    if function in ("process.exit", "process.kill") and (in_tests or not _below_function(node)) and _succeeds(given):
        yield f"calls {function}"
    if function in ("Object.defineProperty", "Object.assign", "Reflect.set", "Object.defineProperties") and given:
        yield from _defined(given)
    if not in_tests:
        return
    if function in _MOCKS and given and (module := string_value(given[0])) and _is_tested(path, module):
        yield f"replaces {module}, which it tests"
    made = test_call(node)
    if made is not None and "only" in made.marks and not is_setup(path):
        yield f"leaves out other tests by {made.word}.only"


def _defined(given: list[Node]) -> Iterator[str]:
    """What a call sets in an object that decides how tests run."""
    owner, name = dotted(given[0]), string_value(given[1]) if len(given) > 1 else None
    target = f"{owner}.{name or 'x'}"
    if _PROTECTED.fullmatch(target) or _LOADER.match(target) or owner in ("assert", "expect"):
        yield f"sets {owner}.{name or '…'}"


def _succeeds(given: list[Node]) -> bool:
    """True where the process may end well: no code, 0, or one that is not written out."""
    return not given or given[0].type != "number" or text_of(given[0]) == "0"


def _below_function(node: Node) -> bool:
    above = node.parent
    while above is not None:
        if above.type in FUNCTIONS:
            return True
        above = above.parent
    return False


def _is_tested(path: str, module: str) -> bool:
    """True when a test file is called after the module that it replaces."""
    if not module.startswith("."):
        return False
    name = posixpath.basename(path)
    own = re.sub(
        r"[._-](?:test|spec)$", "", next((name.removesuffix(one) for one in SUFFIXES if name.endswith(one)), name)
    )
    other = posixpath.basename(module)
    return next((other.removesuffix(one) for one in SUFFIXES if other.endswith(one)), other) == own
