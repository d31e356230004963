"""aiswe backup: everything of an installation in one file, while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@output.json_option
def command(file: Path) -> None:
    """Write database, repositories, keys, audit heads and memory to FILE (a zip), also while `aiswe up` runs.

    The file contains the keys of this installation: only its owner can read it; keep it like a password.
    """
    if file.exists():
        raise WrongUse(f"{file} exists already.", "Name a new file, or move that one away.")
    if not file.absolute().parent.is_dir():
        raise WrongUse(f"There is no folder {file.absolute().parent}.", "Make it, or name another.")
    django.start()
    from projects.errors import BadInput
    from projects.services.installation.backups import write_backup

    try:
        made = write_backup(file)
    except BadInput as elsewhere:
        raise WrongUse(str(elsewhere)) from None
    words = f"{file}: {made['bytes'] / 1e6:,.1f} MB, {len(made['repositories'])} repositories, {made['entries']} files."
    output.answer(made, f"{words}\nIt contains secrets. `aiswe restore {file}` puts it into an empty AISWE_HOME.")
