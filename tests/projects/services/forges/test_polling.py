"""The same way on each kind of forge: a comment, work on it, the push to its branch, the answer below the comment."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from projects.models import ForgeComment, PullRequest, Run
from projects.services.forges import polling
from projects.services.planning import plans
from projects.services.repositories.importing import CodeSource, import_project
from projects.services.work.moves import move_run, move_task
from projects.storage.paths import repository_of
from tests.factories import make_user, plan_content
from tests.forge_server import ServedForge
from tests.projects.services.forges.served import pulled

pytestmark = pytest.mark.django_db
CODE = "def add(a, b):\n    return a - b\n"


def test_a_comment_is_built_and_told(served: ServedForge, tmp_path: Path, settings: Any, enqueued: list[Any]) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    shop = served.repository("acme/sums", {"README.md": "# Sums\n"})
    ada = make_user("ada")
    project = import_project(CodeSource(address=served.web("acme/sums.git")), by=ada, name="Sums").project
    first = Run.objects.create(project=project, kind="build", status="finished")
    ours = repository_of(project, first)
    begun = ours.begin()
    ours.fast_forward(ours.candidate("w", begun, {"calc.py": CODE}).commit(begun, "Add", "", {}))
    request = pulled(served, first, ours.head(), ada)

    def read() -> None:
        row = PullRequest.objects.select_related("link__project").get(pk=request.pk)
        polling.bring_up_to_date(row, timezone.now(), always=True)

    asked = shop.line_comment(request.number, "calc.py", 2, "Add them.", "ada")
    read()
    planning = ForgeComment.objects.get(ident=str(asked.ident)).run
    assert planning is not None
    content = plan_content({"T-01": []})
    content["tasks"][0]["requirements"] = ["R1"]
    plan = plans.propose_plan(planning.document, content=content)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=ada)
    read()
    built = Run.objects.get(kind="build", plan=plan)
    mine = repository_of(project, built)
    begun = mine.begin(request.commit)
    mine.fast_forward(mine.candidate("m", begun, {"calc.py": CODE.replace("-", "+")}).commit(begun, "Sum", "", {}))
    for state in ("ready", "running", "merged"):
        move_task(built.tasks.get(), state)
    for state in ("running", "finished"):
        move_run(built, state)
    read()
    read()
    row, pull = ForgeComment.objects.get(ident=str(asked.ident)), shop.pulls[request.number]
    assert row.outcome == "answered", row.why
    assert pull.head_commit == mine.head()
    answers = [note.text for note in pull.notes if note.author == served.bot and row.why in note.text]
    assert len(answers) == 1
    kept = set(ForgeComment.objects.filter(why="Our own.").values_list("author_ident", flat=True))
    assert kept == {str(served.bot.ident)}
