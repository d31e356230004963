"""Where a project uses a package: in its code, in its tasks, in what people answered before."""

import pytest

from projects.models import Task
from projects.services.decisions import approvals
from projects.services.insight import package_use
from projects.services.work import approval_requests
from tests.dashboard.story import add_code, tell
from tests.factories import make_project
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(enqueued):
    return tell()


@each_row(
    ("line", "found"),
    [
        ("import httpx", True),
        ("    from httpx import Client", True),
        ("import httpx.client as c", True),
        ("import httpx_mock", False),
        ("from app import httpx", False),
        ("# httpx is not imported", False),
        ("const h = require('httpx')", True),
        ('import { get } from "httpx/client"', True),
        ("const h = require('httpx-other')", False),
    ],
)
def test_a_line_that_imports_it_is_told_from_one_that_mentions_it(line, found):
    assert bool(package_use.lines_that_need(line, ["httpx"])) is found


def test_a_package_with_a_dash_is_imported_with_an_underscore():
    assert package_use.lines_that_need("from typing_extensions import Self", ["typing-extensions"])


def test_code_and_lists_that_use_it_are_named_by_line(story):
    files = {
        "app/a.py": "import os\nimport httpx\n",
        "requirements.txt": "rich\nhttpx==0.28\n",
        "b.md": "import httpx\n",
    }
    add_code(story, files)
    found = [(use.path, use.line) for use in package_use.uses_of(story.project, ["httpx"])]
    assert found == [("app/a.py", 2), ("requirements.txt", 2)]
    assert package_use.uses_of(story.project, ["a.*b("]) == [], "a name is no pattern"


def test_a_project_without_code_uses_nothing(db):
    assert package_use.uses_of(make_project("Only words so far"), ["httpx"]) == []


def test_other_tasks_and_earlier_answers_are_found(story):
    Task.objects.filter(run=story.run, key__in=("T-03", "T-04")).update(packages=["httpx>=0.27"])
    task = story.run.tasks.get(key="T-03")
    assert [one.key for one in package_use.tasks_naming(story.project, ["httpx"], but=task)] == ["T-04"]
    assert package_use.earlier_answers(story.approval) == []
    approvals.decide(story.approval, by=story.owner, yes=False, reason="use the standard library")
    again = approval_requests.ask(story.project, kind="package", subject="httpx", title="Install httpx", run=story.run)
    assert package_use.earlier_answers(again) == [story.approval]
