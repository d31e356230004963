"""aiswe backup: everything of an installation in one file, while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from aiswe_site import VERSION
from aiswe_site.cli import django, output
from aiswe_site.cli.problems import WrongUse


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
    from django.conf import settings
    from django.db import connection

    from aiswe_site.backup import Installation, back_up
    from projects.engine.paths import repository_of
    from projects.models import Project
    from projects.services.audit.checkpoints import heads_path, held

    if connection.vendor != "sqlite":
        raise WrongUse(
            "The database is PostgreSQL, which has its own way of being backed up.",
            f"`pg_dump --format=custom`, then copy {settings.AISWE_HOME} (docs/how-to/backup.md has both).",
        )
    found = {each.slug: repository_of(each).git_dir for each in Project.objects.order_by("slug")}
    repositories = {slug: folder for slug, folder in found.items() if (folder / "HEAD").is_file()}
    database = Path(str(connection.settings_dict["NAME"]))
    what = Installation(Path(settings.AISWE_HOME), database, repositories, lambda: held(heads_path()))
    entries = back_up(what, file, VERSION)
    size = file.stat().st_size
    document = {"file": str(file), "bytes": size, "entries": len(entries), "repositories": sorted(repositories)}
    words = f"{file}: {size / 1e6:,.1f} MB, {len(repositories)} repositories, {len(entries)} files."
    output.answer(document, f"{words}\nIt contains secrets. `aiswe restore {file}` puts it into an empty AISWE_HOME.")
