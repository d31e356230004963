"""What Node scripts take from modules: names they import and names they call on them, where that is certain.

Anything that could be something else is left out: a name that is bound twice or handed on (who gets a module may change
it), a name that the code also asks for without calling it (`if (fs.cp)`), optional chains, imports in a `try`, files
that look at Node's version or put other modules in place. In TypeScript an import may be a type, so only its use
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.node.grammars import JAVASCRIPT, TSX, TYPESCRIPT
from agents.languages.symbols import MAX_BYTES, Grammar, parsed_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_USES = 400
_MODULE = re.compile(r"(?:node:)?@?[A-Za-z0-9][\w.-]*(?:/[\w.@-]+)*")
_ASKS = re.compile(
    r"\bprocess\.(?:versions?|release)\b|\bsemver\b|\b(?:jest|vi|vitest)\.\w*[mM]ock|\bmock\.module\b|\bproxyquire\b"
    r"|\brewire\b|\bpromisifyAll\b|\bnoConflict\b"
)
_FLAG = re.compile(r"(?:has|have|supports?|can|is|with)_?([A-Za-z]\w{3,30})", re.IGNORECASE)
_PROPERTY = "property_identifier"
_MATTER = frozenset(
    (
        "import_statement export_statement variable_declarator call_expression await_expression identifier "
        "type_identifier member_expression shorthand_property_identifier shorthand_property_identifier_pattern"
    ).split()
)
_NEUTRAL = frozenset(
    (
        "jsx_opening_element jsx_closing_element jsx_self_closing_element type_query nested_type_identifier "
        "nested_identifier"
    ).split()
)
_SETS = frozenset(
    ("update_expression array_pattern pair_pattern object_assignment_pattern assignment_pattern rest_pattern").split()
)
_SETS_LEFT = frozenset({"assignment_expression", "augmented_assignment_expression", "for_in_statement"})

Taken = tuple[str, bool, tuple[str, ...]]  # module, imported as an ECMAScript module, what is taken from it


@dataclass(frozen=True, order=True)
class JsUse:
    """`attributes` taken from `module`; `esm` when it is imported, else it is required."""

    module: str
    esm: bool
    attributes: tuple[str, ...] = ()
    line: int = 0


def js_uses_of(text: str, grammar: Grammar) -> list[JsUse]:
    """Uses in order of line, at most MAX_USES; none for code that does not parse."""
    content, typed = text.encode("utf-8", "replace"), grammar.name != "javascript"
    if len(content) > MAX_BYTES:
        return []
    root = parsed_within(content, grammar, 0)
    if root is None or root.has_error:
        return []
    return _ScriptReader(root, typed=typed, asks=bool(_ASKS.search(text))).read()


def names_used(source: str) -> set[str]:
    """Full names, as `module.name`, that a text takes from modules; its kind is found by trying."""
    content = source.encode("utf-8", "replace")
    for grammar in (JAVASCRIPT, TYPESCRIPT, TSX):
        root = parsed_within(content, grammar, 0) if len(content) <= MAX_BYTES else None
        if root is not None and not root.has_error:
            uses = js_uses_of(source, grammar)
            return {".".join([use.module, *(one for one in use.attributes if one != "default")]) for use in uses}
    return set()


class _ScriptReader:
    def __init__(self, root: Node, *, typed: bool, asks: bool) -> None:
        self._nodes = list(_walk(root))
        self._typed, self._asks = typed, asks
        self._bound: dict[str, Taken] = {}
        self._own: set[int] = set()  # nodes that bind a name to what was imported
        self._dropped: set[str] = set()
        self._sure: list[JsUse] = []  # what must be there for the file to be loaded
        self._uses: list[tuple[str, JsUse]] = []  # with the name they begin with
        self._asked: set[Taken] = set()  # what the code looks at without calling it
        self._flags: set[str] = set()  # what it has found out before: `hasZstd`
        self._tested: set[str] = set()  # modules of which it tests whether they have something: it knows what it does
        self._looked_for: set[str] = set()  # names it tests anything for: `if (input.raw) … else tty.raw()`

    def read(self) -> list[JsUse]:
        """All uses."""
        for node, guarded in self._nodes:
            if node.type in ("import_statement", "export_statement"):
                self._import(node)
            elif node.type == "variable_declarator" and not guarded:
                self._required(node)
            elif node.type == "identifier" and text_of(node) == "require" and _is_parameter(node):
                self._asks = True  # another loader's, with modules of its own
        for node, guarded in self._nodes:
            if node.type in ("call_expression", "await_expression"):
                if not guarded and (taken := _loaded(node)) is not None:
                    self._use(node, taken, "")
            elif node.type == "type_identifier":
                if node.parent is not None and _is(node.parent, "name", node):
                    self._dropped.add(text_of(node))
            elif node.type == "member_expression":
                name_node = node.child_by_field_name("property")
                if name_node is not None and _is_tested(_outside(node)):
                    self._looked_for.add(text_of(name_node))
            elif node.id not in self._own:
                name = text_of(node)
                if (flag := _FLAG.fullmatch(name)) and _is_tested(_outside(node)):
                    self._flags.add(flag[1].lower())
                if name in self._bound:
                    self._use(node, self._bound[name], name)
        return self._found()

    def _found(self) -> list[JsUse]:
        best: dict[Taken, JsUse] = {(use.module, use.esm, use.attributes): use for use in reversed(self._sure)}
        for name, use in [] if self._asks else self._uses:
            parts = use.attributes
            above = {(use.module, use.esm, parts[:length]) for length in range(1, len(parts) + 1)}
            tested = use.module.removeprefix("node:") in self._tested or self._looked_for & set(parts)
            flagged = any(flag in parts[-1].lower() for flag in self._flags)
            if name not in self._dropped and not tested and not flagged and not above & self._asked:
                best.setdefault((use.module, use.esm, parts), use)
        return sorted(best.values(), key=lambda use: (use.line, use))[:MAX_USES]

    def _import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        module = _string(source)
        if not module or {"type", "typeof", "import_attribute"} & {child.type for child in node.children}:
            return
        line = node.start_point[0] + 1
        self._sure.append(JsUse(module, True, (), line))
        for clause in node.named_children:
            for each in clause.named_children if clause.type in ("import_clause", "export_clause") else ():
                if each.type == "identifier":
                    self._bind(each, (module, True, ("default",)))
                    self._must(module, "default", each)
                elif each.type == "namespace_import":
                    self._bind(each.named_children[0], (module, True, ()))
                for one in (each, *each.named_children):
                    if one.type in ("import_specifier", "export_specifier"):
                        self._specifier(module, one)

    def _specifier(self, module: str, node: Node) -> None:
        name = node.child_by_field_name("name")
        local = node.child_by_field_name("alias") or name
        if name is None or local is None or {"type", "typeof", "string"} & {child.type for child in node.children}:
            return
        if node.type == "import_specifier":
            self._bind(local, (module, True, (text_of(name),)))
        self._own.update({name.id, local.id})
        self._must(module, text_of(name), node)

    def _must(self, module: str, name: str, node: Node) -> None:
        if not self._typed:
            self._sure.append(JsUse(module, True, (name,), node.start_point[0] + 1))

    def _bind(self, node: Node, taken: Taken) -> None:
        name = text_of(node)
        if self._bound.setdefault(name, taken) != taken:
            self._dropped.add(name)
        self._own.add(node.id)

    def _required(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        taken = _taken(value)
        if name is not None and taken is not None:
            self._pattern(name, taken)

    def _pattern(self, node: Node, taken: Taken) -> None:
        """Bind the names of a pattern to what they take; a part with a default may well be missing."""
        module, esm, above = taken
        if node.type == "identifier":
            self._bind(node, taken)
        for part in node.named_children if node.type == "object_pattern" else ():
            key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if part.type == "shorthand_property_identifier_pattern":
                self._bind(part, (module, esm, (*above, text_of(part))))
            elif part.type == "pair_pattern" and key is not None and value is not None and key.type == _PROPERTY:
                self._pattern(value, (module, esm, (*above, text_of(key))))

    def _use(self, node: Node, taken: Taken, name: str) -> None:
        """Note what is taken here, or that nothing can be said about the name any more."""
        module, esm, above = taken
        at, attributes, optional = _chain(node)
        parent = at.parent
        if parent is None or parent.type in _NEUTRAL:
            return
        whole = (*above, *attributes)
        called = not optional and _is_called(parent, at)
        if not called:
            if whole and _is_tested(parent):
                self._tested.add(module.removeprefix("node:"))
            if name and (not (attributes or optional) or _is_set(parent, at)):
                self._dropped.add(name)
                return
            if name or (whole and parent.type != "variable_declarator"):
                self._asked.add((module, esm, whole))
            whole = () if self._typed else whole[:-1]  # an enum of constants is there for the compiler alone
        if whole:
            self._uses.append((name, JsUse(module, esm, whole, node.start_point[0] + 1)))


def _walk(root: Node) -> Iterator[tuple[Node, bool]]:
    """Nodes that matter, parents first, and whether they stand where an error is caught."""
    waiting = [(root, False)]
    while waiting:
        node, guarded = waiting.pop()
        if node.type in _MATTER:
            yield node, guarded
        caught = node.type == "try_statement" and node.child_by_field_name("handler") is not None
        waiting.extend((child, guarded or caught) for child in reversed(node.named_children))


def _loaded(node: Node) -> Taken | None:
    """The module that `require("…")` or `await import("…")` stands for."""
    call = node.named_children[0] if node.type == "await_expression" and node.named_children else node
    function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or given is None or len(given.named_children) != 1:
        return None
    wanted = "import" if call.id != node.id else "require"
    module = _string(given.named_children[0])
    return (module, wanted == "import", ()) if module and text_of(function) == wanted else None


def _taken(node: Node | None) -> Taken | None:
    """What an expression takes from a module that it loads, as in `require("fs").promises`."""
    attributes: list[str] = []
    for _ in range(20):
        if node is None:
            return None
        if node.type == "parenthesized_expression" and node.named_children:
            node = node.named_children[0]
        elif node.type == "member_expression" and not _optional(node):
            name = node.child_by_field_name("property")
            if name is None or name.type != _PROPERTY:
                return None
            attributes.insert(0, text_of(name))
            node = node.child_by_field_name("object")
        else:
            found = _loaded(node) if node.type in ("call_expression", "await_expression") else None
            return (found[0], found[1], tuple(attributes)) if found else None
    return None


def _chain(node: Node) -> tuple[Node, tuple[str, ...], bool]:
    """The whole of `node.a.b`, its attributes, and whether the code goes on with `?.`, as if it might be missing."""
    attributes: list[str] = []
    while (parent := node.parent) is not None:
        if parent.type == "parenthesized_expression":
            node = parent
        elif parent.type == "member_expression" and _is(parent, "object", node):
            name = parent.child_by_field_name("property")
            if _optional(parent) or name is None or name.type != _PROPERTY:
                return node, tuple(attributes), True
            attributes.append(text_of(name))
            node = parent
        else:
            break
    return node, tuple(attributes), False


def _is_called(parent: Node, node: Node) -> bool:
    """True where a value that is not there is an error at once."""
    if parent.type in ("class_heritage", "extends_clause"):
        return True
    if parent.type == "call_expression":
        return _is(parent, "function", node) and not _optional(parent)
    return parent.type == "new_expression" and _is(parent, "constructor", node)


def _outside(node: Node) -> Node | None:
    """What stands around an expression, without its parentheses."""
    above = node.parent
    while above is not None and above.type == "parenthesized_expression":
        above = above.parent
    return above


def _is_tested(parent: Node | None) -> bool:
    """True where a value is only asked whether it is there."""
    if parent is None:
        return False
    if parent.type in ("if_statement", "ternary_expression", "while_statement"):
        return True
    return parent.type in ("unary_expression", "binary_expression") and any(
        child.type in ("!", "typeof", "&&", "||", "??") for child in parent.children
    )


def _is_set(parent: Node, node: Node) -> bool:
    """True where the code itself puts something in this place."""
    if parent.type == "unary_expression":
        return any(child.type == "delete" for child in parent.children)
    return parent.type in _SETS or (parent.type in _SETS_LEFT and _is(parent, "left", node))


def _is_parameter(node: Node) -> bool:
    return node.parent is not None and node.parent.type in ("formal_parameters", "required_parameter", "arrow_function")


def _is(parent: Node, field: str, node: Node) -> bool:
    found = parent.child_by_field_name(field)
    return found is not None and found.id == node.id


def _optional(node: Node) -> bool:
    return any(child.type in ("optional_chain", "?.") for child in node.children)


def _string(node: Node | None) -> str:
    """The name of a module in a literal; empty for anything else, for paths and for addresses."""
    if node is None or node.type != "string" or any(child.type != "string_fragment" for child in node.named_children):
        return ""
    module = text_of(node)[1:-1]
    return module if _MODULE.fullmatch(module) else ""
