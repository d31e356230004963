"""Every page answers, says what it is for, and shows what it must."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.live import stream
from projects.models import Run
from projects.services.planning import documents
from tests.dashboard.story import Story, second_version
from tests.factories import make_document, make_project
from tests.rows import fresh
from tests.tables import each_row
from tests.test_wordings import retired_in
from tests.texts import shows

pytestmark = pytest.mark.django_db


def test_a_project_shows_its_next_step(page, story: Story) -> None:
    assert f"run {story.run.pk}" in page("project", story.project.pk)
    assert "Review the plan" in page("project", story.waiting_plan.project_id)


def test_a_plan_in_the_making_is_the_next_step_whatever_ran_since(page, story: Story) -> None:
    document = make_document(make_project("New", by=story.owner))
    plan = Run.objects.create(project=document.project, kind=Run.Kind.PLAN, status=Run.Status.RUNNING)
    Run.objects.create(project=document.project, kind=Run.Kind.TESTS, status=Run.Status.RUNNING)
    text = page("project", document.project_id)
    assert f'href="/runs/{plan.pk}">Watch it' in text.replace('/">', '">')
    assert "Make a plan" not in text


def test_requirements_are_linked_with_their_lines_and_the_heading_says_what_is_to_do(page, story: Story) -> None:
    text = page("requirements", story.project.pk)
    shows(text, 'id="L3" class="mapped"', 'href="#K-FR-01"', "explicit", "2 requirements confirmed")
    document = make_document(make_project("New", by=story.owner), confirmed=False)
    assert "2 requirements to confirm" in page("requirements", document.project_id)


def test_a_plan_is_a_graph_a_table_and_what_changed_since_the_last_one(page, story: Story) -> None:
    text = page("plan", story.waiting_plan.project_id)
    assert text.count('class="node ') == 2
    shows(text, 'id="task-T-02"', "Approve plan v1")
    second_version(story)
    shows(page("plan", story.waiting_plan.project_id), "v1 → v2", "<ins>Write the list</ins>", "added")


def test_a_run_shows_tasks_rows_and_an_honest_count_and_a_filter_what_it_leaves_out(page, story: Story) -> None:
    text, last = page("run", story.run.pk), fresh(story.run).last_seq
    assert text.count('<article class="ev') == last
    shows(text, f"{last} of {last} events, no gaps", "T-02", "Decide: Install httpx")
    text = page("run", story.run.pk, query="?preset=errors")
    shown = text.count('<article class="ev')
    assert 0 < shown < last
    assert f"{shown} shown of {last}, no gaps" in text


def test_an_event_opens_by_its_address_without_a_script(page, story: Story) -> None:
    event = story.run.events.get(type="decision")
    text = page("run-event", story.run.pk, event.seq)
    shows(text, f'here" id="e{event.seq}"', "it is JSON already")
    page("run-event", story.run.pk, 99_999, status=404)


def test_a_task_shows_diagnosis_change_and_result(page, story: Story) -> None:
    text = page("task", story.stuck.pk)
    assert "mark() returns nothing" in text
    assert "refuted" in text
    assert "Same error again" in text
    assert "tests/test_done.py::test_mark" in text
    assert "<strong>same</strong>" in text


def test_a_gate_says_why_it_blocks(page, story: Story) -> None:
    text = page("gate", story.stuck.pk)
    shows(text, "Blocked: bandit B602 is HIGH.", "CWE-78")
    assert "not scanned" in page("gate", story.run.tasks.get(key="T-04").pk).lower()


def test_badge_and_inbox_agree_and_an_approval_says_what_a_yes_and_a_no_do(page, story: Story) -> None:
    text = page("approvals")
    assert '<span class="count"><span class="sr">waiting: </span>2</span>' in text
    assert text.count('<li class="card') == 2
    text = page("approval", story.approval.pk)
    shows(text, "It is installed for this run.", "The coder must do without.")


def test_the_audit_lists_rows_and_verifies_them(page, story: Story, client: Client) -> None:
    assert "Not verified since" in page("audit-run", story.run.pk)
    text = client.post(reverse("audit-verify", args=[story.run.pk])).content.decode()
    assert "no gaps, all hashes match" in text
    assert "Run" in page("audit")


def test_an_export_is_an_attachment_with_every_row(story: Story, client: Client) -> None:
    story.project.memberships.create(user=story.owner, role="auditor")
    client.force_login(story.owner)
    response = client.get(reverse("audit-export", args=[story.run.pk, "jsonl"]))
    story.run.refresh_from_db()
    assert response["Content-Disposition"].startswith("attachment")
    assert len(b"".join(response.streaming_content).splitlines()) >= story.run.last_seq


def test_the_system_page_shows_checks_and_their_way_out(page, monkeypatch: pytest.MonkeyPatch) -> None:
    from projects.services.installation import health

    monkeypatch.setattr(health, "_registered", None)
    health.register(
        lambda awaited=None: [
            {"name": "Ollama", "ok": False, "detail": "nobody answers", "hint": "ollama serve", "seconds": 0.1}
        ]
    )
    text = page("system")
    shows(text, "nobody answers", "ollama serve")
    health.register(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["project-new", "keys", "runs"])
def test_other_pages_answer(page, name: str) -> None:
    page(name)


def test_a_new_server_offers_two_ways_to_begin(client: Client, django_user_model) -> None:
    client.force_login(django_user_model.objects.create_user("eve"))
    text = client.get("/").content.decode()
    shows(text, "Watch the demo", "Set up your model")


@pytest.mark.parametrize("name", ["projects", "runs", "approvals"])
def test_a_poll_gets_the_list_alone(story: Story, client: Client, name: str) -> None:
    client.force_login(story.owner)
    part = client.get(reverse(name), headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "hx-get" in part.content.decode()
    assert "HX-Request" in part["Vary"]


def test_rows_of_the_stream_carry_no_indentation(story: Story) -> None:
    html = stream.render_rows(stream.events_of(story.run))
    assert html.count('<article class="ev') == story.run.events.count()
    assert "\n" not in html
    assert "> <" not in html
    assert stream.render_rows([]) == ""


def test_no_page_uses_a_retired_wording(page, story: Story) -> None:
    run, task, plan = story.run.pk, story.stuck.pk, story.waiting_plan
    text = {
        (name, *args): page(name, *args)
        for name, *args in (
            *([name] for name in ("projects", "runs", "approvals", "memory", "audit", "system", "account", "keys")),
            *([name, story.project.pk] for name in ("project", "requirements")),
            *([name, plan.project_id] for name in ("project", "plan")),
            *([name, run] for name in ("run", "run-tokens", "audit-run")),
            *([name, task] for name in ("task", "gate", "task-tokens")),
            ["plan-task", plan.pk, "T-01"],
            ["approval", story.approval.pk],
        )
    }
    assert {name: found for name, html in text.items() if (found := retired_in(re.sub(r"<[^>]*>", "", html)))} == {}


def test_the_requirements_page_shows_questions_hints_and_passages(page, story: Story) -> None:
    text = b"## Needs\n- FR-1: Lists open fast.\n\n```\nlist\n```\n\n## Open questions\n- Who reads <b>them</b>?\n"
    document = documents.upload_document(story.project, text, "next.md", by=story.owner)
    documents.extract_written(document)
    shown = page("requirements", story.project.pk)
    assert "1 question left open" in shown
    assert "Who reads &lt;b&gt;them&lt;/b&gt;?" in shown
    assert "No test can check “fast”" in shown
    assert '<a class="tag" href="#L4">see 4–6</a>' in shown


@each_row("name", ["project", "requirements", "plan", "backlog", "trace", "files", "project-ask", "baseline"])
def test_the_tabs_of_a_project_stay_in_place_above_the_heading(story: Story, client: Client, name: str) -> None:
    client.force_login(story.owner)
    # Another test may have left code for a project of the same number: the files are then those of its branch.
    text = client.get(reverse(name, args=[story.project.pk]), follow=True).content.decode()
    assert text.index('class="tabs"') < text.index("<h1")


def test_code_in_a_refusal_is_shown_as_code(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    answer = client.get(reverse("backups"))
    assert answer.status_code == 403
    assert "<code>aiswe config admin NAME</code>" in answer.content.decode()
