"""What git leaves in a file where a merge was not finished."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.house.tree import Tree

# SEARCH and REPLACE: the marks of an edit in a model's reply, which prompts, recordings and tests show.
_MARKER = re.compile(rb"^(?:<{7} (?!SEARCH)|>{7} (?!REPLACE)|\|{7} )", re.MULTILINE)


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Every line that is a conflict marker, in whatever file."""
    problems = []
    for path in tree.files:
        content = (tree.root / path).read_bytes()
        problems += [
            f"{path}:{content.count(bytes([10]), 0, found.start()) + 1} is a conflict marker: finish the merge"
            for found in _MARKER.finditer(content)
        ]
    return problems
