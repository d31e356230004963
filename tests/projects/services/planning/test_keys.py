"""Keys mean one requirement in a whole project, whatever the author calls it."""

import pytest

from projects.models import Requirement
from projects.services.planning.documents import confirm_requirements, extract_written, upload_document
from projects.services.planning.plan_rules import examine
from tests.factories import make_project

pytestmark = pytest.mark.django_db

FIRST = b"# Sums\n\nFR-1: The user shall add two numbers.\n\nFR-2: The user shall log in with a password.\n"
SECOND = b"# More\n\nFR-1: The user shall divide numbers.\n\nFR-2: The user shall log in with a password.\n"


def _keys(*documents: bytes) -> list[dict[str, str]]:
    project = make_project()
    user = project.created_by
    read = [
        extract_written(upload_document(project, data, f"prd{number}.md", by=user))
        for number, data in enumerate(documents)
    ]
    return [dict(one.requirements.filter(origin="explicit").values_list("author_key", "key")) for one in read]


def test_a_second_document_numbers_on_and_keeps_the_key_of_what_it_repeats() -> None:
    first, second = _keys(FIRST, SECOND)
    assert first == {"FR-1": "R1", "FR-2": "R2"}
    assert second == {"FR-1": "R3", "FR-2": "R2"}


def test_a_suggestion_of_the_second_document_names_the_key_that_calls_for_it() -> None:
    project = make_project()
    upload_document(project, FIRST, "prd.md", by=project.created_by)
    extract_written(project.documents.get())
    document = extract_written(
        upload_document(project, b"# More\n\nFR-9: Users log in with a password.\n", "b.md", by=project.created_by)
    )
    key = document.requirements.get(author_key="FR-9").key
    suggested = document.requirements.filter(origin="implied").first()
    assert suggested is not None
    assert f"(because of {key})" in suggested.reason


def test_confirming_leaves_suggestions_as_suggestions() -> None:
    project = make_project()
    document = extract_written(upload_document(project, FIRST, "prd.md", by=project.created_by))
    confirm_requirements(document, by=project.created_by)
    assert not document.requirements.filter(origin="implied", status=Requirement.Status.ACCEPTED).exists()
    assert set(document.requirements.wanted().values_list("key", flat=True)) == {"R1", "R2"}


def test_a_plan_may_name_requirements_as_the_author_does() -> None:
    project = make_project()
    document = extract_written(upload_document(project, FIRST, "prd.md", by=project.created_by))
    examined = examine({"tasks": [{"title": "All", "requirements": ["FR-1", "FR-2"]}]}, document)
    assert not examined.first_error
    assert examined.content["tasks"][0]["requirements"] == ["R1", "R2"]
