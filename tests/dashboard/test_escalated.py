"""A task that was handed to a person: why, the best attempt to read and to take away, and every way out."""

import io
import zipfile

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from dashboard.presenters import best
from projects.models import Task
from projects.services.decisions import approvals
from projects.services.work import approval_requests, tasks
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.rows import emit, fresh
from tests.texts import shows

pytestmark = pytest.mark.django_db


def read(client: Client, name: str, *args: object) -> str:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200
    return answer.content.decode()


def attach(story: Story, **files: str) -> None:
    best = {f"best:{path}": text for path, text in files.items()}
    emit(story.run.pk, "error", summary="Escalated: x", outcome="escalated", task_id=story.stuck.pk, blobs=best)


def test_the_best_attempt_stands_on_the_page_code_first(story: Story, owner: Client) -> None:
    text = read(owner, "task", story.stuck.pk)
    assert '<span class="tf">mark</span>(row):' in text
    assert text.index("app/todos.py</span>") < text.index("tests/test_done.py</span>")
    assert "a test" in text


def test_all_its_files_come_as_one_archive_and_a_file_alone_is_plain_text_to_keep(story: Story, owner: Client) -> None:
    address = reverse("task-best", args=[story.stuck.pk])
    answer = owner.get(address)
    assert answer["Content-Disposition"] == 'attachment; filename="T-02-best.zip"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert sorted(archive.namelist()) == ["app/todos.py", "tests/test_done.py"]
        assert archive.read("app/todos.py") == b"def mark(row):\n    return None\n"
    answer = owner.get(address, {"path": "app/todos.py"})
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="todos.py"'
    assert owner.get(address, {"path": "app/other.py"}).status_code == 404


def test_no_path_leaves_the_folder_it_is_unpacked_in(story: Story, owner: Client) -> None:
    attach(story, **{"../../etc/passwd": "a", "/root/x.py": "b", "C:\\boot.ini": "c", "..": "d", "etc/passwd": "e"})
    with zipfile.ZipFile(io.BytesIO(owner.get(reverse("task-best", args=[story.stuck.pk])).content)) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names)) == 5
    assert not [
        name for name in names if name.startswith("/") or ".." in name.split("/") or ":" in name or "\\" in name
    ]


@given(st.text(max_size=60))
def test_any_path_becomes_a_name_that_a_header_and_a_disk_can_hold(path: str) -> None:
    name = best.safe_name(path)
    assert name
    assert name.isascii()
    assert not set(name) & set('/\\:"\r\n')


def test_a_task_with_nothing_attached_has_no_download(story: Story, owner: Client) -> None:
    assert owner.get(reverse("task-best", args=[story.done.pk])).status_code == 404
    attach(story)
    assert "none was worth keeping" in read(owner, "task", story.stuck.pk)


def test_after_a_retry_the_old_attempt_is_gone_from_the_page(story: Story, owner: Client) -> None:
    tasks.retry_task(story.stuck, by=story.owner, note="again")
    assert "Best attempt" not in read(owner, "task", story.stuck.pk)


def test_a_try_says_what_became_of_it(story: Story, owner: Client) -> None:
    text = read(owner, "task", story.stuck.pk)
    shows(text, "Identical to", "was not shown", "so the code was restored to")
    assert "skipped in try 2" in text, "the tests shown are of a try that ran"


def test_a_limit_is_raised_from_the_page(story: Story, owner: Client) -> None:
    address = reverse("task-limit", args=[story.stuck.pk])
    assert "Repairs per task: 5" in read(owner, "task", story.stuck.pk)
    assert owner.post(address, {"limit": "task_tokens", "value": "1,000,000"}).status_code == 302
    assert fresh(story.project).limits["task_tokens"] == 1_000_000
    assert story.project.limits["max_retries"] == 5
    for wrong in (
        {"limit": "parallel_tasks", "value": "9"},
        {"limit": "max_retries", "value": "many"},
        {"limit": "max_retries", "value": "51"},
    ):
        assert owner.post(address, wrong).status_code == 422
    assert fresh(story.project).limits["max_retries"] == 5


def test_who_may_not_sees_who_can(story: Story, client: Client) -> None:
    client.force_login(make_user("vera", role="viewer", project=story.project))
    text = read(client, "task", story.stuck.pk)
    shows(text, "disabled>Retry with note", "disabled>Raise a limit", "disabled>Skip the task")
    address = reverse("task-limit", args=[story.stuck.pk])
    assert client.post(address, {"limit": "max_retries", "value": "9"}).status_code == 403


def test_the_question_in_the_inbox_is_answered_on_the_page_of_its_task(story: Story, owner: Client) -> None:
    Task.objects.filter(pk=story.done.pk).update(status="running")
    story.done.refresh_from_db()
    tasks.escalate_task(story.done, text="Five repairs failed.\n\n**What was tried**\n\n- try 1 `a`")
    question = approvals.pending_for(story.owner).get(kind="escalation")
    answer = owner.get(reverse("approval", args=[question.pk]))
    assert answer["Location"] == reverse("task", args=[story.done.pk])
    text = read(owner, "task", story.done.pk)
    assert "<strong>What was tried</strong>" in text
    assert reverse("approval", args=[question.pk]) in text, "the answer goes to the question"


def test_a_guards_question_shows_the_code_it_is_about(story: Story, owner: Client) -> None:
    question = approval_requests.ask(
        story.project,
        kind="gate",
        subject="reach:T-01:1",
        title="T-01: may this code reach outside?",
        run=story.run,
        task=story.done,
        why="app/todos.py: subprocess.run",
        payload={
            "reasons": ["app/todos.py: subprocess.run starts a <b>program</b>"],
            "paths": ["app/todos.py", "gone.py"],
        },
    )
    text = read(owner, "approval", question.pk)
    assert "subprocess.run starts a &lt;b&gt;program&lt;/b&gt;" in text
    assert "a to-do needs a title" in text, "the change of the file that the question names"
    assert "What the guard flagged" not in read(owner, "approval", story.approval.pk)


def test_a_file_that_is_held_back_is_shown_in_its_answer(story: Story, owner: Client) -> None:
    question = approval_requests.ask(
        story.project,
        kind="gate",
        subject="firewall:1",
        title="T-01: may it be used?",
        run=story.run,
        task=story.done,
        why="it looks odd",
        payload={"path": "app/todos.py", "reasons": ["it looks odd"], "rule": "guard.doubt"},
    )
    text = read(owner, "approval", question.pk)
    shows(text, "guard.doubt", "Here is the file.")
    assert "a to-do needs a title" not in text, "an older version of the file is not what is asked about"
