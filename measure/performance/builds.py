"""Projects and builds for a measurement, made through the services like any other; needs Django set up."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from measure.performance.stories import PRD

if TYPE_CHECKING:
    from projects.models import Run


def set_up() -> None:
    """Django with a fresh database in this process's home."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", interactive=False, verbosity=0)


def make_user() -> Any:
    """A person with rights over everything; the password is not kept."""
    from django.contrib.auth import get_user_model

    name = f"bench-{secrets.token_hex(4)}"
    return get_user_model().objects.create_superuser(username=name, password=secrets.token_urlsafe(24))


def make_build(user: Any, name: str, tasks: Sequence[dict[str, Any]], *, model: str, parallel: int = 1) -> Run:
    """A queued build of an approved plan with these tasks."""
    from projects.services.planning import documents, plans, projects, runs

    project = projects.create_project(name, by=user, model=model, limits={"parallel_tasks": parallel})
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=user)
    row = {
        "key": "FR-01",
        "text": "The program shall calculate sums.",
        "kind": "functional",
        "lines": [3, 3],
        "acceptance": ["2 + 3 is 5"],
        "origin": "explicit",
    }
    documents.record_extraction(document, [row], [])
    documents.confirm_requirements(document, by=user)
    plan = plans.propose_plan(document, content={"tasks": list(tasks), "notes": ""})
    plans.approve_plan(plan, content_hash=plan.content_hash, by=user)
    return runs.start_build(plan, by=user)
