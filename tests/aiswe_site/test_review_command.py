"""`aiswe review`: a change of a project, with remarks for people and as JSON, and all of it on record."""

from __future__ import annotations

import json

import pytest

from projects.engine import reviewing
from projects.models import Event, Run
from projects.services.audit.chain import verify_chain
from projects.services.planning import projects
from projects.storage.paths import repository_of
from tests.agents.engine.nodes.support import clean_gates
from tests.factories import make_user
from tests.replying_model import replying_model
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]

BEFORE = "def first(prices):\n    return prices[0] if prices else None\n"
AFTER = "def first(prices):\n    return prices[0]\n"
REMARK = {"line": 2, "quote": "return prices[0]", "kind": "bug", "problem": "first([]) raises IndexError."}


def reply(messages):
    asked = messages[-1]["content"]
    if "Somebody says" in asked:
        return '{"because": "an empty list has no first", "true": true}'
    return "NO TEST: none." if "A reviewer says" in asked else json.dumps({"change": "c", "remarks": [REMARK]})


@pytest.fixture
def project(monkeypatch, settings, tmp_path):
    monkeypatch.setattr("projects.engine.building.gates", clean_gates)
    settings.AISWE_HOME = tmp_path / "home"
    made = projects.create_project("Marks", by=make_user("root", superuser=True))
    repository = repository_of(made)
    base = repository.ensure("Marks")
    for branch, text in (("main", BEFORE), ("feature", AFTER)):
        tree = repository.worktree("start", base)
        tree.write({"prices.py": text})
        sha = tree.commit(base, f"Change of {branch}", "", {})
        if branch == "main":
            repository.fast_forward(sha)
            base = sha
        else:
            repository.branch(branch, sha)
    with replying_model(reply) as model:
        settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": model.url}
        yield made


def test_remarks_are_shown_with_their_line_and_end_with_one(project, cli):
    said = cli.prints("review", "main..feature", "--project", project.slug, "--no-tests", code=1)
    assert "prices.py:2  bug, not proven" in said
    assert "+ return prices[0]" in said
    assert "1 remark on 1 file, 1 piece of code." in said


def test_the_document_names_both_commits_and_the_trail_holds_every_step(project, cli):
    found = cli.answers("review", "main...feature", "--project", project.slug, "--no-tests", code=1)
    row = Run.objects.get(pk=found["run"])
    assert (row.kind, row.status, row.why) == ("review", "finished", "1 remark")
    kinds = set(Event.objects.filter(run=row).values_list("type", flat=True))
    assert {"run.queued", "gate.verdict", "thought", "review.remark", "run.finished"} <= kinds
    assert Event.objects.get(run=row, type="run.queued").payload["change"] == f"{found['base']}..{found['head']}"
    assert verify_chain(row.pk).ok


def test_nothing_is_sent_without_a_request_or_a_yes(project, cli):
    cli.refuses("review", "main..feature", "--project", project.slug, "--send")
    cli.answers("review", "--request", "1", "--project", project.slug, "--send", code=2)
    assert "is not linked to a forge" in cli.refuses("review", "--request", "1", "--project", project.slug)


@each_row(
    ("change", "said"),
    [
        ("main", "does not name a change"),
        ("main..nothing", "names no commit"),
        ("main..main", "Nothing differs"),
        ("--exec=x..main", "names no commit"),
    ],
)
def test_what_is_no_change_is_wrong_use(project, cli, change, said):
    assert said in cli.refuses("review", "--project", project.slug, "--", change)
    assert not Run.objects.exists()


def test_a_change_that_nobody_may_review_is_refused(project):
    base, head = reviewing.commits_of(project, "main..feature")
    with pytest.raises(Exception, match="may"):
        reviewing.review_on_request(project, base, head, by=make_user("guest"))
