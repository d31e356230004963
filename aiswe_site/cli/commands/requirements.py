"""aiswe requirements: extraction alone."""

from __future__ import annotations

import click

from aiswe_site.cli import output


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@output.json_option
def command(file: str) -> None:
    """List every requirement in FILE with its lines, and every paragraph without one. No model is needed."""
    from agents.requirements.documents import read_path
    from agents.requirements.extract import extract

    found = extract(read_path(file))

    def people() -> None:
        rows = [
            (
                r.key,
                r.kind.replace("_", "-"),
                "–".join(str(n) for n in dict.fromkeys(r.lines)),
                r.text if len(r.text) <= 160 else r.text[:157] + "…",
            )
            for r in found.requirements
        ]
        output.table(("Key", "Kind", "Lines", "Text"), rows, nothing="No requirement was found.")
        mapped = found.mapped_paragraphs
        output.say(f"{len(rows)} requirements; {mapped} of {found.paragraphs} paragraphs mapped.")

    output.answer(found.to_json(), people)
