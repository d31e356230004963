"""aiswe scaffold: the files of a project from its architecture diagram."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from aiswe_site.cli import documents
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse


@click.command()
@click.argument("file", type=documents.GIVEN)
@click.option(
    "--output",
    "-o",
    "target",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to; no file in it is replaced.",
)
@click.option("--name", default="", help="The project's name; that of the folder by default.")
@click.option("--diagram", "line", type=click.IntRange(min=1), metavar="LINE", help="The diagram that begins there.")
@output.json_option
def command(file: str, target: Path, name: str, line: int | None) -> None:
    """Make folders, Dockerfiles, compose.yaml and pipelines from the architecture diagram in FILE. No model is needed.

    FILE is a document with a diagram of Mermaid or PlantUML, or a file of Mermaid (.mmd), PlantUML (.puml) or draw.io
    (.drawio) alone. Of several diagrams the one with most to start is taken. What the diagram leaves open is asked.
    """
    from agents.recipes.names import Names
    from agents.scaffold.start import recipe_of

    source, architecture = documents.read_architecture(file, line or 0)
    slug = Names.of(name or target.resolve().name).slug
    files = recipe_of(architecture, slug, source).skeleton
    _write(target, dict(files))
    rows = [
        {**asdict(one), "template": one.template, "folder": one.folder, "needs": list(one.needs)}
        for one in architecture.components
    ]
    result = {
        "directory": str(target),
        "document": {"name": source.name, "sha256": source.sha256, "line": architecture.line},
        "components": rows,
        "questions": list(architecture.questions),
        "files": list(files),
    }

    def people() -> None:
        output.table(
            ("Component", "Kind", "Technology", "Folder", "Known by"),
            [(one.title, one.kind, one.technology_title, one.folder, one.why) for one in architecture.components],
        )
        for question in architecture.questions:
            output.say(f"Open: {question}")
        output.say(f"{len(files)} files are in {target}. Next: see its README.md")

    output.answer(result, people)


def _write(target: Path, files: dict[str, str]) -> None:
    """Write the files, or none of them when one is there already. Raises WrongUse."""
    there = [path for path in files if (target / path).exists() or (target / path).is_symlink()]
    if there:
        shown = ", ".join(there[:5]) + (" …" if len(there) > 5 else "")
        raise WrongUse(f"{target} has files of these names: {shown}.", "Name a new folder: -o DIR")
    for path, text in files.items():
        place = target / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("x", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise WrongUse(f"{place} cannot be written: {error.strerror}.", "Name another folder: -o DIR") from None
