"""From a log to a planned fix: what is seen to fail here is planned, anything else waits for a person."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.engine.rebuild import Builder, Rebuilt
from projects.engine.build_fixes import repeat
from projects.errors import BadInput, NotAllowed
from projects.jobs import upkeep
from projects.models import Project, RequirementDocument, Run
from projects.services.delivery import fix_report
from projects.services.delivery.fix_report import request_section, said_in
from projects.services.planning.build_logs import JOB, fix_log
from projects.services.repositories.importing import CodeSource, import_project
from projects.storage.paths import repository_of
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap, pytest.mark.usefixtures("enqueued")]
CODE = "def total(prices):\n    return sum(prices)\n"
BROKEN = """*** Error compiling 'shop/cart.py'...
  File "shop/cart.py", line 1
    def total(
             ^
SyntaxError: '(' was never closed
"""
TRACE = """Traceback (most recent call last):
  File "/srv/shop/cart.py", line 2, in total
    return sum(prices)
TypeError: unsupported
"""


@pytest.fixture
def shop(tmp_path: Path, anna: User) -> Project:
    (tmp_path / "code/shop").mkdir(parents=True)
    (tmp_path / "code/shop/cart.py").write_text(CODE)
    return import_project(CodeSource(folder=tmp_path / "code"), by=anna, name="Shop").project


def broken(project: Project) -> None:
    repository = repository_of(project)
    tree = repository.worktree("break", repository.base_head())
    tree.write({"shop/cart.py": "def total(\n"})
    repository.fast_forward(tree.commit(repository.base_head(), "Break it", "", {}))


def test_a_failure_that_is_seen_here_is_planned(shop: Project, anna: User) -> None:
    broken(shop)
    found = fix_log(shop, BROKEN, by=anna, source="pasted", repeat=repeat)
    assert found.run is not None
    assert (found.cause.kind, found.cause.place) == ("compile error", "shop/cart.py:1")
    assert found.document.start["check"] == "python -m compileall -q ."
    requirement = found.document.requirements.get()
    assert requirement.acceptance[0] == "What failed passes: `python -m compileall -q .`."
    assert "'(' was never closed" in requirement.text


def test_what_does_not_fail_here_waits_for_a_person(
    shop: Project,
    anna: User,
    enqueued: list[Any],
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "close_old_connections", lambda: None)
    with django_capture_on_commit_callbacks(execute=True):
        found = fix_log(shop, BROKEN, by=anna, source="a check of the forge")
    assert found.run is None
    assert (JOB, found.document.pk) in [(row[0], *row[1]) for row in enqueued]
    upkeep.repeat_build(found.document.pk)
    document = RequirementDocument.objects.get(pk=found.document.pk)
    assert document.status == RequirementDocument.Status.EXTRACTED
    assert "python -m compileall -q . passes on" in document.notes[-1]
    assert not Run.objects.exists()


def test_what_a_person_decided_meanwhile_is_not_planned_again(
    shop: Project, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decided(self: Builder, cause: Any) -> Rebuilt:
        RequirementDocument.objects.update(status=RequirementDocument.Status.CONFIRMED)
        return Rebuilt(False, "x", "x")

    monkeypatch.setattr(Builder, "repeat", decided)
    assert fix_log(shop, BROKEN, by=anna, source="pasted", repeat=repeat).run is None
    assert not Run.objects.exists()


def test_a_trace_is_planned_with_a_test_first(shop: Project, anna: User) -> None:
    found = fix_log(shop, TRACE, by=anna, source="pasted", repeat=repeat)
    assert found.run is not None
    assert (found.cause.place, found.document.start["reproduced"]) == ("shop/cart.py:2", False)
    assert found.document.requirements.get().acceptance[0] == "A regression test fails without the fix."


def test_a_log_without_failure_and_a_person_without_rights_are_refused(shop: Project, anna: User) -> None:
    with pytest.raises(BadInput, match="Nothing in this log"):
        fix_log(shop, "all is well", by=anna, source="pasted")
    with pytest.raises(NotAllowed):
        fix_log(shop, BROKEN, by=make_user(role="viewer", project=shop), source="pasted")


def test_a_pull_request_says_what_failed_and_what_is_taken_back(
    shop: Project, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fix_log(shop, TRACE, by=anna, source="pasted", repeat=repeat)
    base = repository_of(shop).base_head()
    run = Run.objects.create(project=shop, document=found.document, kind=Run.Kind.BUILD, base_commit=base)
    assert said_in(run) == []
    assert "lock files and other ways to name versions are not compared" in request_section(run)
    monkeypatch.setattr(fix_report, "said_in", lambda run: ["requirements.txt: flask==2 is removed"])
    text = request_section(run)
    assert "- requirements.txt: flask==2 is removed" in text
    assert "Uncaught error (python) at shop/cart.py:2" in text
    assert "- <requirements.txt: flask==2 is removed>" in request_section(run, lambda words: f"<{words}>")
