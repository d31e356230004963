"""The gate page: one card a weakness, its code, its decision; sending back and approving."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.presenters import weaknesses
from projects.models import Approval, Finding, Task
from projects.services.decisions import approvals
from tests.dashboard.story import Story, ask_gate
from tests.dashboard.story_decisions import ask_every_kind
from tests.factories import make_user
from tests.rows import fresh
from tests.texts import shows

pytestmark = pytest.mark.django_db


def test_two_scanners_on_one_weakness_are_one_card_with_its_code_and_a_button(
    page: Callable[..., str], story: Story
) -> None:
    text = page("gate", story.stuck.pk)
    assert text.count("1 weakness, found by 2 scanners") == 1
    shows(text, "HIGH, confidence HIGH (bandit);", "HIGH, confidence MEDIUM (semgrep)", 'class="hit"')
    assert text.count('<section class="weak"') == 2, "the third is another weakness"
    shows(text, '<mark>    <span class="tk">return</span> subprocess.call(', "Pass the command as a list.")
    assert re.search(r"data-send autofocus>\s*Send back with 1 finding\s*</button>", " ".join(text.split()))


def test_a_line_that_is_not_kept_is_named_a_scanners_words_are_text_and_what_is_fixed_counts_as_fixed(
    page: Callable[..., str], story: Story
) -> None:
    Finding.objects.update(path="app/other.py", message="<img src=x onerror=alert(1)>")
    text = page("gate", story.stuck.pk)
    shows(text, "its code is not shown", "app/other.py:4")
    assert "<img src=x" not in text
    story.stuck.findings.update(state="fixed", blocks=False)
    shows(page("gate", story.stuck.pk), "Nothing blocks T-02", "no scanner")


def test_what_was_tried_has_the_change_of_each_try(story: Story) -> None:
    first, second, *_ = weaknesses.tries_of(list(story.stuck.attempts.all()))
    assert first.counts == "+6 −1"
    assert second.counts == "+1 −1"
    assert (first.same, second.same) == (False, True)


def test_sent_back_the_task_is_tried_again_and_the_next_decision_opens(owner: Client, story: Story) -> None:
    data = {f"f{story.finding.pk}-disposition": "fix", f"f{story.finding.pk}-reason": "Use a list."}
    answer = owner.post(reverse("gate", args=[story.stuck.pk]), data, follow=True)
    assert fresh(story.stuck).status == "ready"
    assert "Use a list." in story.stuck.note
    assert "Imports subprocess" not in story.stuck.note, "a lesser finding is left unless it is picked"
    assert answer.redirect_chain[-1][0] == reverse("approval", args=[story.approval.pk])
    assert "Next: Install httpx" in answer.content.decode()


def test_approve_is_shut_with_its_reason_until_what_blocks_is_decided(owner: Client, story: Story) -> None:
    asked = ask_gate(story)

    def page() -> str:
        return " ".join(owner.get(reverse("gate", args=[asked.task_id])).content.decode().split())

    shut = 'aria-describedby="approve-help" disabled>Approve: scan T-03 again</button>'
    shows(page(), "Approve opens when 1 weakness that blocks is fixed", shut)
    assert owner.post(reverse("approval", args=[asked.pk]), {"answer": "yes"}).status_code == 422
    assert fresh(asked).status == Approval.Status.PENDING
    Finding.objects.filter(task=asked.task_id).update(disposition="accepted", reason="r", blocks=False)
    shows(page(), "Nothing undecided blocks.", "Then these can start: T-04")


def test_a_question_of_the_gate_opens_with_its_evidence(owner: Client, story: Story) -> None:
    asked = ask_gate(story)
    answer = owner.get(reverse("approval", args=[asked.pk]))
    assert answer["Location"] == reverse("gate", args=[asked.task_id])
    inbox = owner.get(reverse("approvals")).content.decode()
    assert f'href="{reverse("gate", args=[asked.task_id])}"' in inbox, "one click from the inbox"
    assert inbox.index("T-03 failed the security gate") < inbox.index("Install httpx"), "riskiest first"


def test_a_weakness_is_decided_once_for_all_its_scanners(story: Story, client: Client) -> None:
    client.force_login(make_user("sue", role="security", project=story.project))
    key = f"f{story.finding.pk}"
    data = {f"{key}-disposition": "accepted", f"{key}-days": "7"}
    data[f"{key}-reason"] = "The command is a constant of this module, and stays one."
    client.post(reverse("finding-dispose", args=[story.finding.pk]), data)
    rows = story.stuck.findings.filter(line=4)
    assert [row.disposition for row in rows] == ["accepted", "accepted"]


def test_a_second_person_is_named_only_where_one_exists(story: Story, client: Client) -> None:
    sue = make_user("sue", role="security", project=story.project)
    client.force_login(sue)
    text = " ".join(client.get(reverse("gate", args=[story.stuck.pk])).content.decode().split())
    assert "stand in for the second person" in text
    assert "Ask the second person" not in text
    make_user("tom", role="security", project=story.project)
    text = " ".join(client.get(reverse("gate", args=[story.stuck.pk])).content.decode().split())
    shows(text, "a second person: tom", "Ask the second person")


def test_several_of_one_kind_are_decided_with_one_form_each_by_itself(owner: Client, story: Story) -> None:
    from projects.services.work import approval_requests

    more = [
        approval_requests.ask(story.project, kind="package", subject=name, title=f"Install {name}", run=story.run)
        for name in ("attrs", "rich")
    ]
    assert reverse("approvals-together", args=["package"]) in owner.get(reverse("approvals")).content.decode()
    approvals.decide(more[1], by=story.owner, yes=False, reason="no")
    data = {"approval": [story.approval.pk, more[0].pk, more[1].pk], "answer": "yes"}
    text = owner.post(reverse("approvals-together", args=["package"]), data, follow=True).content.decode()
    assert "Decided elsewhere meanwhile: 1" in text
    assert [fresh(row).status for row in (story.approval, *more)] == ["approved", "approved", "rejected"]
    assert story.run.events.filter(type="approval.decided").count() == 3
    assert owner.get(reverse("approvals-together", args=["gate"])).status_code == 404


def test_a_task_that_is_at_work_is_not_sent_back(owner: Client, story: Story) -> None:
    Task.objects.filter(pk=story.stuck.pk).update(status="running")
    assert "Nothing to decide" in owner.get(reverse("gate", args=[story.stuck.pk])).content.decode()
    assert owner.post(reverse("gate", args=[story.stuck.pk])).status_code == 409


def test_a_package_question_says_what_for_and_who_else(page: Callable[..., str], story: Story) -> None:
    from tests.rows import emit

    task = story.run.tasks.get(key="T-03")
    Task.objects.filter(run=story.run, key="T-04").update(packages=["httpx"])
    reply = {"output": "```python\nimport httpx\nprint(httpx)\n```"}
    emit(story.run.pk, "thought", summary="x", payload={"text": "x"}, task_id=task.pk, blobs=reply)
    Approval.objects.filter(pk=story.approval.pk).update(requested_at=story.run.events.latest("seq").at)
    text = " ".join(page("approval", story.approval.pk).split())
    assert "import httpx" in text
    assert "run 1, T-04".replace("1", str(story.run.pk)) in text


def test_a_plan_question_shows_the_planners_reasons(page: Callable[..., str], story: Story) -> None:
    from projects.models import Run
    from tests.rows import emit

    document = story.waiting_plan.document
    planning = Run.objects.create(project=document.project, kind=Run.Kind.PLAN, document=document, status="running")
    Run.objects.filter(pk=planning.pk).update(created_at=document.created_at)
    said = {"choice": "one module", "rejected": ["a service"], "reason": "It is small.", "requirements": ["FR-01"]}
    emit(planning.pk, "decision", summary="x", payload=said, role="planner")
    asked = Approval.objects.get(kind="plan", subject=story.waiting_plan.content_hash)
    text = " ".join(page("approval", asked.pk).split())
    shows(text, "one module", "It is small.", "Instead of: a service")


def test_a_question_shows_what_it_is_about_before_the_answer(page: Callable[..., str], story: Story) -> None:
    asked = ask_every_kind(story)
    text = page("approval", asked["settings"].pk)
    assert '<span class="tk">packages</span>' in text, "the file, not a payload to unfold"
    text = page("approval", asked["test_change"].pk)
    assert "held back" not in text, "the tests are written already"
    assert text.count('<tr class="del">') == text.count('<tr class="add">') == 1
    text = page("approval", asked["reach"].pk)
    assert text.count("<li>app/run.py: starts a program") == 1
    assert "Open the security gate" not in text, "no scanner reported anything"
