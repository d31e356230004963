"""aiswe restore: a backup into an empty data folder, verified."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aiswe_site.startup import django
from aiswe_site.startup.home import data_folder
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--home", "folder", type=click.Path(file_okay=False, path_type=Path), help="Empty or new; AISWE_HOME by default."
)
@output.json_option
def command(file: Path, folder: Path | None) -> int:
    """Put the backup FILE into an empty data folder and verify it: every file, every repository, the audit trails.

    Exit code 1 when the backup is damaged (then nothing is left behind) or its trails do not verify.
    """
    if os.environ.get("DATABASE_URL"):
        raise WrongUse("DATABASE_URL names another database.", "Unset it: a backup holds SQLite in the data folder.")
    from projects.storage.backup import restore

    home = folder.expanduser().resolve() if folder else data_folder()
    if home.is_dir() and any(home.iterdir()):
        raise WrongUse(f"{home} is not empty.", "Name a new folder: --home, or AISWE_HOME. Nothing was changed.")
    manifest = restore(file, home)
    os.environ["AISWE_HOME"] = str(home)
    django.start()
    from aiswe_site.verbs.trails import check_all
    from projects.services.audit.checkpoints import read_heads

    trails = check_all(read_heads())
    document = {
        "home": str(home),
        "made_at": manifest["at"],
        "version": manifest["version"],
        "entries": len(manifest["entries"]),
        "repositories": manifest["repositories"],
        "verified": trails.ok,
        "problems": trails.problems,
    }

    def people() -> None:
        output.say(f"✓ {len(manifest['entries'])} files of {manifest['at']} are in {home}, each as it was backed up.")
        output.say(f"✓ {len(manifest['repositories'])} repositories are complete (git fsck).")
        for problem in trails.problems:
            output.say(f"✕ {problem}")
        if trails.ok:
            output.say(f"✓ The audit trails verify.\nNext: AISWE_HOME={home} aiswe up")
        else:
            output.say(f"  → AISWE_HOME={home} aiswe audit verify")

    return output.answer(document, people, ok=trails.ok)
