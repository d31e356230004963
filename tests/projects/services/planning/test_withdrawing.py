"""A document that was uploaded by mistake is taken back."""

from typing import Any

import pytest

from projects.errors import IllegalMove, NotAllowed, StaleVersion
from projects.models import Requirement, RequirementDocument, Run, SiteEvent
from projects.services.planning import documents, plans, runs
from projects.services.planning.withdrawing import withdraw_document
from tests.factories import PRD, make_plan, make_project, make_run, make_user, owner_of
from tests.rows import fresh

pytestmark = pytest.mark.django_db
WRONG = "FR-07 The user shall pay with a card."


def test_its_planning_ends_and_what_it_replaced_is_in_force_again(enqueued: list[Any]) -> None:
    project = make_project()
    by = owner_of(project)
    right = documents.upload_document(project, PRD.encode(), "todo.md", by=by)
    wrong = documents.upload_document(project, WRONG.encode(), "todo.md", by=by)
    planning = runs.start_planning(wrong, by=by)
    withdraw_document(wrong, by=by)
    assert (fresh(planning).status, planning.why) == ("cancelled", "todo.md v2 was withdrawn")
    assert list(project.documents.all()) == [right]
    assert planning.document == wrong, "its run still names it"
    assert SiteEvent.objects.get(action="document.withdrawn").detail["replaced"] == "todo.md v1"
    assert documents.upload_document(project, PRD.encode(), "todo.md", by=by) == right
    again = documents.upload_document(project, WRONG.encode(), "todo.md", by=by)
    assert (again.version, again.replaces) == (3, right)
    with pytest.raises(IllegalMove, match=r"v2 was withdrawn\. Upload it again"):
        runs.start_planning(wrong, by=by)
    Run.objects.filter(pk=planning.pk).update(status="failed")
    with pytest.raises(IllegalMove, match="was withdrawn"):
        runs.resume_run(planning, by=by)
    with pytest.raises(IllegalMove, match="is withdrawn"):
        documents.record_extraction(wrong, [], [])


def test_its_plan_and_its_words_count_no_more(enqueued: list[Any]) -> None:
    plan = make_plan()
    by, text = owner_of(plan.project), "The user shall not add items."
    other = documents.upload_document(plan.project, f"FR-09 {text}".encode(), "other.md", by=by)
    documents.confirm_requirements(documents.extract_written(other), by=by)
    assert Requirement.objects.filter(document=other, status="accepted").exists()
    withdraw_document(plan.document, by=by)
    with pytest.raises(StaleVersion, match="superseded"):
        runs.start_build(plan, by=by)
    assert all(len(hint.keys) < 2 for hint in documents.hints(other))


def test_what_a_build_works_on_or_another_document_replaced_stays(enqueued: list[Any]) -> None:
    run = make_run()
    by = owner_of(run.project)
    with pytest.raises(NotAllowed):
        withdraw_document(run.plan.document, by=make_user(role="viewer", project=run.project))
    with pytest.raises(IllegalMove, match=f"Run {run.pk} was started to build .* v1"):
        withdraw_document(run.plan.document, by=by)
    first = documents.upload_document(run.project, WRONG.encode(), "more.md", by=by)
    documents.upload_document(run.project, f"{WRONG} Twice.".encode(), "more.md", by=by)
    with pytest.raises(IllegalMove, match=r"v3 took the place of more\.md v2"):
        withdraw_document(first, by=by)
    assert RequirementDocument.objects.count() == 3
    assert plans.newest_plan(run.plan.document) == run.plan
