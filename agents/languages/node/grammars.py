"""JavaScript and TypeScript as tree-sitter reads them."""

from __future__ import annotations

from pathlib import PurePosixPath

from agents.languages.symbols import Grammar

_QUERY = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (property_identifier) @name) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @value))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @value)))
(identifier) @mention
(property_identifier) @mention
"""
_TYPES = """
(interface_declaration name: (type_identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(type_identifier) @mention
"""
JAVASCRIPT = Grammar("javascript", "tree_sitter_javascript", _QUERY)
TYPESCRIPT = Grammar("typescript", "tree_sitter_typescript", _QUERY + _TYPES, "language_typescript")
TSX = Grammar("tsx", "tree_sitter_typescript", _QUERY + _TYPES, "language_tsx")


def grammar_of_script(path: str) -> Grammar:
    """The grammar by the file's suffix."""
    suffix = PurePosixPath(path).suffix
    return TSX if suffix == ".tsx" else TYPESCRIPT if suffix in (".ts", ".mts", ".cts") else JAVASCRIPT
