"""aiswe fix: from the log of a failed build, or the trace of a program, to a fix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Project


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("log", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@arguments.as_option
@output.json_option
def command(project: Project, log: Path, user: str) -> int:
    """Name the cause of the failed build in LOG, repeat it in the sandbox, and have its fix planned in PROJECT.

    LOG is a file, or - for stdin; a trace of a program is read too. What is not seen to fail here is planned only after
    a person confirms it. Exit code 1 when no fix was planned.
    """
    from projects.engine.build_fixes import repeat
    from projects.errors import BadInput
    from projects.services.planning.build_logs import MOST_BYTES, fix_log

    with click.open_file(str(log), "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise WrongUse(f"{log} is larger than {MOST_BYTES // 1024**2} MB.", "Cut it down to the step that failed.")
    source = "standard input" if str(log) == "-" else log.name
    try:
        found = fix_log(project, data.decode("utf-8", "replace"), by=acting_user(user), source=source, repeat=repeat)
    except BadInput as refused:
        raise WrongUse(str(refused)) from None
    document = {
        "project": project.slug,
        "cause": found.cause.to_json(),
        "document": found.document.version,
        "reproduced": bool(found.document.start.get("reproduced")),
        "check": found.document.start.get("title", ""),
        "run": found.run.pk if found.run else None,
        "why": found.why,
    }

    def people() -> None:
        output.say(found.cause.sentence)
        if found.run is None:
            output.say(f"Not planned: {found.why}")
            output.say(f"To have it planned all the same: aiswe requirements confirm {project.slug}")
            return
        seen = f"Seen to fail here: {document['check']}. " if document["reproduced"] else ""
        output.say(f"{seen}Run {found.run.pk} plans the fix: aiswe plan show {project.slug}")

    return output.answer(document, people, ok=found.run is not None)
