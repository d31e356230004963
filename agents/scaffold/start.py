"""What a project starts from when it has an architecture: the recipe that its diagram makes."""

from __future__ import annotations

from agents.recipes.recipe import Recipe
from agents.scaffold.components import Architecture
from agents.scaffold.files import files_of
from agents.scaffold.source import DiagramSource

NAME = "diagram"
_PACKAGES = {
    "fastapi": ("fastapi", "uvicorn", "httpx"),
    "express": ("npm:express",),
    "react": ("npm:react", "npm:react-dom", "npm:@testing-library/react"),
}


def recipe_of(architecture: Architecture, slug: str, source: DiagramSource) -> Recipe:
    """The architecture's files as the skeleton of a recipe; its hash is that of the document."""
    programs = architecture.programs
    name = " ".join("".join(char if char.isprintable() else " " for char in source.name).split())[:120]
    files = files_of(architecture, slug, name)
    where = "\n".join(f"- {one.folder}: {one.kind} ({one.technology_title})" for one in programs)
    plan = (
        "The repository begins with a folder for each program of the architecture, and with compose.yaml, Dockerfiles "
        f"and pipelines:\n{where}\n"
        "Add to these folders; each keeps its own packages and tests. Name files with their whole path."
    )
    return Recipe(
        name=NAME,
        title="Architecture diagram",
        summary=f"The components of {name}",
        languages=tuple(sorted({one.language for one in programs})),
        packages=tuple(dict.fromkeys(line for one in programs for line in _PACKAGES.get(one.template, ()))),
        start="docker compose up --build --wait",
        skeleton=files,
        plan=plan,
        source=name,
        hash=source.sha256,
    )
