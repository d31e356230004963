"""What a person does from a document to an approved plan, by forms alone."""

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from agents.fragments.blueprint import read_blueprint
from agents.fragments.planned import plan_of
from projects.models import Plan, Project, Run
from projects.services.planning import documents, plans, reading
from projects.storage.paths import repository_of
from tests.agents.fragments import crm
from tests.agents.requirements.readers.files import lines, pdf
from tests.dashboard.story import Story, second_version
from tests.factories import make_user, owner_of
from tests.needs import bubblewrap_problem, missing
from tests.projects.services.planning.test_progress import build, give
from tests.rows import fresh
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def told() -> None:
    """Each test has the story for itself: some begin without any project."""


@pytest.fixture
def ada(client: Client) -> Client:
    client.force_login(make_user("ada"))
    return client


PRD = "# Todo API\n\nFR-01 The API shall add a to-do.\n\nThe weather is nice.\n"


def test_a_document_becomes_a_project_with_requirements(ada: Client, enqueued: list) -> None:
    upload = SimpleUploadedFile("todo.md", PRD.encode())
    answer = ada.post("/projects/new", {"name": "Todo", "autonomy": "plan_gates", "max_retries": 3, "file": upload})
    project = Project.objects.get()
    assert answer["Location"] == reverse("requirements", args=[project.pk])
    assert project.limits["max_retries"] == 3
    text = ada.get(answer["Location"]).content.decode()
    shows(text, "FR-01", "not mapped to a requirement", "The weather is nice.")


def test_a_project_starts_from_the_recipe_that_was_chosen_and_its_page_says_so(
    ada: Client, enqueued: list, settings: Any, tmp_path: Any
) -> None:
    settings.AISWE_HOME = tmp_path
    options = ada.get("/projects/new").content.decode()
    assert '<option value="service-fastapi">FastAPI service: an HTTP API in Python' in options
    sent = {"name": "Todo", "autonomy": "plan_gates", "max_retries": 3, "text": PRD, "recipe": "service-fastapi"}
    ada.post("/projects/new", sent)
    project = Project.objects.get()
    repository = repository_of(project)
    assert "todo/main.py" in repository.files(repository.base_head())
    assert "APIRouter" in project.house_rules
    page = ada.get(f"/p/{project.pk}/").content.decode()
    assert "a recipe that comes with AI SWE" in page
    assert project.recipe["hash"] in page
    refused = ada.post("/projects/new", sent | {"recipe": "/etc"})
    assert refused.status_code == 422
    assert Project.objects.count() == 1


@pytest.mark.bubblewrap
def test_an_uploaded_pdf_is_shown_with_its_pages_and_can_be_downloaded(
    ada: Client, enqueued: list, settings: Any
) -> None:
    if problem := bubblewrap_problem():
        missing(problem)
    settings.SANDBOX_BACKEND = "bubblewrap"
    data = pdf([lines("The shop sells books.")] * 2 + [lines("FR-07 The system shall send mail.", top=500)])
    upload = SimpleUploadedFile("shop <1>.pdf", data)
    answer = ada.post("/projects/new", {"name": "Shop", "autonomy": "plan_gates", "max_retries": 3, "file": upload})
    page = " ".join(ada.get(answer["Location"]).content.decode().split())
    shows(page, "page 3, line 5", '<span class="tag">page 2</span>')
    document = Project.objects.get().documents.get()
    original = ada.get(reverse("document-original", args=[document.pk]))
    assert original.content == data
    assert original["Content-Disposition"].startswith("attachment")
    assert original["Content-Type"] == "application/octet-stream"
    scan = SimpleUploadedFile("scan.pdf", pdf([[]]))
    refused = ada.post("/preview", {"file": scan})
    assert refused.status_code == 422
    assert "it is a scan" in refused.content.decode()


def test_a_document_that_replaces_another_shows_what_it_changes(client: Client, story: Story) -> None:
    client.force_login(story.owner)
    pages = [reverse(name, args=[story.project.pk]) for name in ("project-upload", "requirements")]
    for words, relation in (
        ("FR-1 It shall add.\n\nFR-2 It shall sort.", "adds"),
        ("FR-1 It shall add <b>dates</b>.", "replaces"),
    ):
        assert client.post(pages[0], {"text": words, "relation": relation}).status_code == 302
        document = story.project.documents.first()
        assert document is not None
        documents.confirm_requirements(document, by=story.owner)
    page = " ".join(client.get(pages[1]).content.decode().split())
    assert "0 requirements added, 1 altered, 1 removed" in page
    assert "<del>It shall add.</del>" in page
    assert "It shall add &lt;b&gt;dates&lt;/b&gt;." in page
    assert "<del>It shall sort.</del>" in page
    assert f"Superseded by version {document.version}" in page
    earlier = client.get(pages[1], {"v": document.version - 1}).content.decode()
    assert "a newer one exists" in earlier
    refused = client.post(pages[0], {"text": "FR-9 It shall.", "relation": "hides"})
    assert refused.status_code == 422


def test_the_plan_of_a_replacement_is_measured_by_what_it_changes(client: Client, story: Story) -> None:
    client.force_login(story.owner)
    Run.objects.filter(pk=story.run.pk).update(status="finished")
    first = give(story.project, "FR-1: It shall add.\n\nFR-2: It shall sort.\n")
    keys = list(first.requirements.filter(origin="explicit").values_list("key", flat=True))
    build(first, {"T-01": keys})
    second = give(story.project, "FR-1: It shall add.\n\nFR-2: It shall sort by date.\n\nFR-3: It shall print.\n")
    task = {"title": "Sort by date", "expects": "Sorted.", "requirements": [keys[1]]}
    plans.propose_plan(second, content={"tasks": [task]})
    page = " ".join(client.get(reverse("plan", args=[story.project.pk])).content.decode().split())
    assert "1 of 2 requirements have a task." in page


def test_diagrams_and_background_are_shown_as_text(client: Client, story: Story) -> None:
    client.force_login(story.owner)
    text = '# S\n\nFR-1 It shall start.\n\n```mermaid\nflowchart LR\n  a["<b>Web</b>"] -->|reads| db\n```\n'
    read = reading.read_bytes(text.encode(), "spec.md")
    documents.store_document(
        story.project, read, "specs/001-a/spec.md", "Use <i>SQLite</i>.", by=owner_of(story.project)
    )
    page = " ".join(client.get(reverse("requirements", args=[story.project.pk])).content.decode().split())
    assert "flowchart diagram: 2 components, 1 links" in page
    assert "&lt;b&gt;Web&lt;/b&gt;" in page
    assert "Use &lt;i&gt;SQLite&lt;/i&gt;." in page
    assert "specs/001-a/spec.md" in page
    assert page.count("a newer one exists") == 0
    first = client.get(reverse("requirements", args=[story.project.pk]), {"v": 1}).content.decode()
    assert "a newer one exists" not in first, "another specification is not a newer version of this document"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"%PDF-1.7 x", "PDF"),
        (b"PK\x03\x04zip", "ZIP"),
        (b"\x00\x01\x02\x03" * 100, ""),
    ],
)
def test_an_unreadable_file_makes_no_project(ada: Client, data: bytes, words: str) -> None:
    upload = SimpleUploadedFile("todo.md", data)
    answer = ada.post("/projects/new", {"name": "Todo", "autonomy": "plan_gates", "max_retries": 3, "file": upload})
    assert answer.status_code == 422
    assert words.lower() in answer.content.decode().lower()
    assert not Project.objects.exists()


def test_a_preview_stores_nothing(ada: Client) -> None:
    whole = ada.post("/preview", {"text": PRD}).content.decode()
    shows(whole, "1 requirement", "<html")
    part = ada.post("/preview", {"text": PRD}, headers={"HX-Request": "true"}).content.decode()
    assert "1 requirement" in part
    assert "<html" not in part
    assert not Project.objects.exists()


def test_a_requirement_is_rejected_edited_added_and_confirmed(owner: Client, story: Story) -> None:
    from tests.factories import make_document, make_project

    document = make_document(make_project("Third", by=story.owner), confirmed=False)
    first, second = document.requirements.all()
    owner.post(reverse("requirement", args=[first.pk]), {"status": "rejected"})
    owner.post(
        reverse("requirement", args=[second.pk]), {"text": "New words.", "kind": "constraint", "acceptance": "a\n\nb"}
    )
    owner.post(reverse("requirement-add", args=[document.pk]), {"text": "By hand.", "kind": "goal"})
    owner.post(reverse("requirements-confirm", args=[document.pk]))
    assert fresh(document).status == "confirmed"
    found = {r.key: (r.status, r.text, r.acceptance, r.origin) for r in document.requirements.all()}
    assert found["FR-01"][0] == "rejected"
    assert found["FR-02"] == ("accepted", "New words.", ["a", "b"], "explicit")
    assert found["MAN-01"][3] == "manual"


def test_a_variant_of_a_plan_is_compared_and_taken(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    address = reverse("plan", args=[plan.project_id])
    closed = owner.get(address).content.decode()
    assert "Compare variants" in closed
    assert "recommended" not in closed
    text = owner.get(f"{address}?variants=1").content.decode()
    assert "Keep the current plan" in text
    part = owner.get(f"{address}?variants=1", headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith("<details")
    digest = re.search(r'/variant".*?name="hash"\s+value="([0-9a-f]{64})"', part, re.DOTALL)
    assert digest
    answer = owner.post(reverse("plan-variant", args=[plan.pk]), {"hash": digest[1]}, follow=True)
    assert "It is plan v2 now. Nothing is built before its approval." in answer.content.decode()
    assert [one.status for one in plan.project.plans.all()] == ["proposed", "superseded"]


def test_an_old_plan_or_another_hash_cannot_be_approved_and_both_versions_are_shown(
    owner: Client, story: Story
) -> None:
    plan = story.waiting_plan
    address = reverse("plan-approve", args=[plan.pk])
    assert owner.post(address, {"hash": "0" * 64}).status_code == 409
    assert fresh(plan).status == "proposed"
    second_version(story)
    answer = owner.post(address, {"hash": plan.content_hash})
    assert answer.status_code == 409
    shows(answer.content.decode(), "You opened v1", "The newest is v2")
    assert not Plan.objects.filter(status="approved", project=plan.project).exists()


def test_editing_a_task_makes_a_new_version(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    words = {"title": "Write it all", "description": "", "expects": "It works.", "minutes": "45", "comment": "clearer"}
    data = {**words, "requirements": ["FR-01", "FR-02"], "needs": [], "hash": plan.content_hash}
    owner.post(reverse("plan-task", args=[plan.pk, "T-01"]), data)
    newest = plan.project.plans.first()
    assert newest.version == 2
    assert newest.content["tasks"][0]["title"] == "Write it all"
    again = owner.post(reverse("plan-task", args=[plan.pk, "T-01"]), {**data, "title": "Other"})
    assert again.status_code == 409
    too_long = owner.post(reverse("plan-task", args=[newest.pk, "T-01"]), {**data, "minutes": "61"})
    assert too_long.status_code == 422


def test_a_circle_is_named_in_the_form_and_nothing_is_stored(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    data = {"title": "x", "minutes": "30", "requirements": ["FR-01", "FR-02"], "needs": ["T-02"]}
    answer = owner.post(reverse("plan-task", args=[plan.pk, "T-01"]), {**data, "hash": plan.content_hash})
    assert answer.status_code == 422
    assert "T-01 → T-02 → T-01" in answer.content.decode()
    assert plan.project.plans.count() == 1
    text = owner.get(reverse("plan", args=[plan.project_id])).content.decode()
    assert "T-01 → T-02 → T-01" in text, "the refusal is a row of the plan's page"


def test_asking_for_changes_needs_words_and_a_rejected_plan_says_who_when_and_why(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    address = reverse("plan-changes", args=[plan.pk])
    assert owner.post(address, {"comment": ""}).status_code == 422
    owner.post(address, {"comment": "Smaller tasks, please."})
    assert fresh(plan).status == "rejected"
    text = " ".join(owner.get(reverse("plan", args=[plan.project_id])).content.decode().split())
    row = text[text.index('id="history-h"') :].partition("</table>")[0]
    shows(row, "rejected", "ada, <time", "Smaller tasks, please.")


def test_from_upload_to_approved_plan_takes_six_clicks(ada: Client, enqueued: list) -> None:
    clicks = 0

    def press(text: str, address: str, **data: Any) -> Any:
        nonlocal clicks
        assert f'action="{address}"' in text, f"no form leads to {address}"
        clicks += 1
        return ada.post(address, data, follow=True)

    text = ada.get("/projects/new").content.decode()
    assert "<form" in text
    upload = SimpleUploadedFile("todo.md", b"# Todo\n\nFR-01 The API shall add a to-do.\n")
    page = ada.post(
        "/projects/new", {"name": "Todo", "autonomy": "plan_gates", "max_retries": 3, "file": upload}, follow=True
    )
    clicks += 1
    document = Project.objects.get().documents.get()
    page = press(page.content.decode(), reverse("requirements-confirm", args=[document.pk]))
    page = press(page.content.decode(), reverse("planning-start", args=[document.pk]))
    key = document.requirements.get().key
    plan = plans.propose_plan(document, content={"tasks": [{"title": "All", "expects": "x", "requirements": [key]}]})
    where = reverse("plan", args=[document.project_id])
    clicks += 1  # the tab, or the notice of the run
    page = ada.get(where)
    press(page.content.decode(), reverse("plan-approve", args=[plan.pk]), hash=plan.content_hash)
    assert fresh(plan).status == "approved"
    assert clicks <= 6


@each_row(
    "content",
    [
        {},
        {"tasks": 3},
        {"tasks": ["x", None, {}]},
        {"tasks": [{"key": None, "needs": 5, "requirements": 7, "minutes": "soon"}]},
        {"tasks": [{"key": "T-01", "needs": ["T-09", 4], "requirements": [None]}], "notes": ["a"]},
        {"tasks": [{"key": "a/b", "title": {"x": 1}, "needs": "T-01"}]},
    ],
)
def test_a_plan_of_any_shape_can_be_looked_at(owner: Client, story: Story, content: dict) -> None:
    Plan.objects.filter(pk=story.waiting_plan.pk).update(content=content, status="invalid")
    assert owner.get(reverse("plan", args=[story.waiting_plan.project_id])).status_code == 200
    assert owner.get(reverse("approvals")).status_code == 200


def test_approving_pins_the_hash_and_building_starts_once(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    answer = owner.post(reverse("plan-approve", args=[plan.pk]), {"hash": plan.content_hash}, follow=True)
    text = answer.content.decode()
    assert f"Plan v1 is approved and pinned to {plan.content_hash[:12]}" in text
    for _ in range(2):
        owner.post(reverse("plan-build", args=[plan.pk]))
    assert Run.objects.filter(plan=plan, kind="build").count() == 1


def test_the_fragments_of_a_blueprint_are_shown_before_the_yes(owner: Client, story: Story) -> None:
    document = story.waiting_plan.document
    blueprint, _ = read_blueprint(crm.blueprint())
    assert blueprint is not None
    rows = document.requirements.wanted().values("key", "kind")
    plans.propose_plan(document, content=plan_of(blueprint, rows))
    page = " ".join(unescape(owner.get(reverse("plan", args=[story.waiting_plan.project_id])).content.decode()).split())
    for words in (
        "Fragments of T-01",
        "<code>calculate_tax(amount: str, rate: float) → float</code>",
        "calculate_tax('100', 0.19) → 19.0",
        "add_customer([], ' ', 1) raises ValueError",
        "A search field, numbers at the top",
        "<code>rate</code>",
    ):
        assert words in page
