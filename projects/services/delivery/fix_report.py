"""What a run's result says of the failed build that it fixed, and of what it takes back of pins, tests and checks."""

from __future__ import annotations

from collections.abc import Callable

from agents.engine.nodes.rebuilt import EVENT
from agents.engine.said_changes import COMPARED, said_changes
from agents.repair.build_log import BuildCause
from projects.models import Event, Run
from projects.services.delivery.changes import changes_between
from projects.storage.paths import repository_of

NOTHING_SAID = f"Nothing was found in {COMPARED}; lock files and other ways to name versions are not compared."


def said_in(run: Run) -> list[str]:
    """What a run's result takes back of pins, tests and checks, in sentences."""
    repository = repository_of(run.project, run)
    base, head = run.base_commit, repository.head()
    paths = changes_between(run.project, base, head).paths if base else ()
    before, after = ({path: repository.read(at, path) or "" for path in paths} for at in (base, head))
    asked = frozenset(run.document.start.get("asked", ())) if run.document else frozenset[str]()
    return said_changes(before, after, asked)


def request_section(run: Run, quote: Callable[[str], str] = str) -> str:
    """The part of a pull request's text about the failed build that its run fixed, in Markdown; "" for other runs.

    `quote` makes words of logs, manifests and code harmless where they are shown.
    """
    start = run.document.start if run.document is not None else {}
    if not start:
        return ""
    lines, cause = [], start.get("cause")
    if cause:
        lines += ["### The failed build", "", f"- Cause: {quote(BuildCause(**cause).sentence)}"]
        seen = (
            f"seen to fail before the change: {quote(start['title'])}"
            if start.get("reproduced")
            else "not seen to fail here"
        )
        lines.append(f"- Repeated: {seen}")
    last = Event.objects.filter(run=run, payload__has_key=EVENT).order_by("-seq").first()
    if last is not None:
        found = last.payload[EVENT]
        how = {True: "passes", False: "fails", None: "proves nothing"}[found["ok"]]
        lines.append(f"- After the change: {quote(found['title'])} {how}")
        if chosen := found["chosen"]:
            lines.append(f"- The resolver chose: {quote(', '.join(chosen[:40]))}{', …' if len(chosen) > 40 else ''}")
    said = said_in(run)
    lines += ["", "### What it takes back", "", *(f"- {quote(line)}" for line in said[:50])]
    return "\n".join([*lines, *([] if said else [NOTHING_SAID])]).strip()
