"""Packages that import each other in a circle, at every level; and what the product must not import."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import grimp
import networkx

from scripts.house.tree import Tree

Edges = list[tuple[str, str]]


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Circles of packages with the imports that close them, and imports of a forbidden room."""
    rooms = [room for room in house["rooms"]["product"] if (tree.root / room).is_dir()]
    measuring = [room for room in house["rooms"]["measuring"] if (tree.root / room).is_dir()]
    edges = imports(tree, rooms + measuring)
    forbidden = [edge for edge in edges if edge[0].split(".")[0] in rooms and edge[1].split(".")[0] in measuring]
    problems = [
        f"{importer} imports {imported}: nothing of the product imports {imported.split('.')[0]}"
        for importer, imported in forbidden
    ]
    for package, circle, closing in package_circles(sorted(set(edges) - set(forbidden))):
        among = f"the packages {', '.join(circle)} of {package}" if package else f"the rooms {', '.join(circle)}"
        problems.append(f"{among} import each other in a circle: {'; '.join(closing)}")
    return problems


def imports(tree: Tree, rooms: list[str]) -> Edges:
    """Every import of one module by another, those inside functions too."""
    sys.path.insert(0, os.fspath(tree.root))
    try:
        graph = grimp.build_graph(*rooms, cache_dir=None)
    finally:
        sys.path.remove(os.fspath(tree.root))
    return sorted(
        (module, imported) for module in graph.modules for imported in graph.find_modules_directly_imported_by(module)
    )


def package_circles(edges: Edges) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each circle: the package that holds its members, their names, and for every arrow between them one import."""
    for package, children in sorted(_by_package(edges).items()):
        graph = networkx.DiGraph(list(children))
        for group in networkx.strongly_connected_components(graph):
            if len(group) > 1:
                closing = [" → ".join(found[0]) for (a, b), found in sorted(children.items()) if {a, b} <= group]
                yield package, sorted(group), closing


def _by_package(edges: Edges) -> dict[str, dict[tuple[str, str], Edges]]:
    """For each package the arrows between its children, each with the imports it stands for."""
    packages: dict[str, dict[tuple[str, str], Edges]] = defaultdict(lambda: defaultdict(list))
    for importer, imported in edges:
        one, other = importer.split("."), imported.split(".")
        depth = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        if depth is not None:
            packages[".".join(one[:depth])][one[depth], other[depth]].append((importer, imported))
    return packages
