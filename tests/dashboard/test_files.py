"""The file browser: folders, files with colours, and where each line comes from."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from agents.workspace.blame import lines_of, origins
from agents.workspace.git import GitError
from dashboard.text import highlight
from projects.services.delivery import files
from projects.storage.paths import repository_of
from tests.dashboard.story import CODE, Story, add_code
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db

ODD = {
    **CODE,
    "app/hostile.py": "x = '<img src=x onerror=alert(1)>'  # \u202egnp\x1b[31m\n",
    "docs/a b#c?.md": "words\n",
    "long.txt": "a\n" * (files.MOST_LINES + 5),
    "wide.js": f"let x = '{'y' * 5_000}';\n",
}


@pytest.fixture
def story(story: Story, tmp_path: Path, settings: Any, client: Client) -> Story:
    settings.AISWE_HOME = tmp_path
    add_code(story, ODD)
    client.force_login(story.owner)
    return story


def page(client: Client, story: Story, where: str = "main", status: int = 200) -> str:
    answer = client.get(reverse("project-files", args=[story.project.pk, where]))
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def test_a_folder_lists_its_files_and_shows_its_readme_harmless(story: Story, client: Client) -> None:
    assert client.get(reverse("files", args=[story.project.pk]))["Location"].endswith("/files/main")
    text = page(client, story)
    shows(text, "/files/main/app", "<em>to-dos</em>")
    assert "<script>alert" not in text
    assert "/files/main/docs/a%20b%23c%3F.md" in page(client, story, "main/docs")


def test_each_line_leads_to_its_task_requirement_and_thought(story: Story, client: Client) -> None:
    text = page(client, story, "main/app/todos.py")
    thought = story.run.events.filter(task=story.done, type="thought").latest("seq")
    assert reverse("task", args=[story.done.pk]) in text
    assert reverse("run-event", args=[story.run.pk, thought.seq]) in text
    shows(text, "FR-01", '<span class="tk">def</span>')
    assert re.search(r'<tr id="L4"', text)


def test_a_commit_and_branches_with_slashes_and_signs_are_places_too(story: Story, client: Client) -> None:
    repository = repository_of(story.project)
    from agents.workspace.git import git

    names = ("aiswe/run-1", "bot/@types/a+b")
    for name in names:
        git(repository.git_dir, "update-ref", f"refs/heads/{name}", story.done.commit)
    for at in (story.done.commit, story.done.commit[:10], *names):
        assert "<span class" in page(client, story, f"{at}/app/todos.py")
    for where in ("nowhere", "main/none.py", "main/../x", "main/app/todos.py/x", "HEAD~1", "-h", "main/.git/config"):
        page(client, story, where, 404)


def test_trailers_of_others_lead_nowhere(story: Story, client: Client) -> None:
    """Anybody may write trailers into a commit; what they name in other projects is not linked."""
    other = story.waiting_plan.project
    repository = repository_of(story.project)
    base = repository.head()
    tree = repository.worktree("mine", base)
    tree.write({"forged.py": "x = 1\n"})
    trailers = {"Task": "T-01", "Requirement": "FR-99", "Run": "999999", "Event": "1"}
    repository.fast_forward(tree.commit(base, "Forged", "", trailers))
    text = page(client, story, "main/forged.py")
    assert "FR-99" not in text
    assert repository.head()[:12] in text
    assert str(other.pk) not in re.findall(r"/p/(\d+)/", text)


def test_hostile_text_is_shown_and_not_obeyed(story: Story, client: Client) -> None:
    text = page(client, story, "main/app/hostile.py")
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_what_is_not_shown_says_why(story: Story, client: Client) -> None:
    assert "more than 5,000 lines" in page(client, story, "main/long.txt")
    repository = repository_of(story.project)
    head = repository.head()
    tree = repository.worktree("bytes", head)
    for name, body in {"bin.dat": b"a\0b", "latin.txt": b"\xe4\xf6\n", "big.txt": b"x" * 600_000}.items():
        (tree.path / name).write_bytes(body)
    repository.fast_forward(tree.commit(head, "Bytes", "", {}))
    assert "binary file" in page(client, story, "main/bin.dat")
    assert "not UTF-8 text" in page(client, story, "main/latin.txt")
    assert "600,000 bytes" in page(client, story, "main/big.txt")


def test_a_file_is_downloaded_as_it_is_and_never_shown_as_a_page(story: Story, client: Client) -> None:
    answer = client.get(reverse("project-raw", args=[story.project.pk, "main/app/todos.py"]))
    assert answer["Content-Disposition"] == 'attachment; filename="todos.py"'
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    answer.close()


def test_a_project_without_code_says_so(story: Story, client: Client) -> None:
    answer = client.get(reverse("files", args=[story.waiting_plan.project_id]))
    assert b"No code yet" in answer.content


@each_row("text", ["", "a", "a\n", "a\r\nb\n", "a\rb\n", "'''\n\n'''\n", "a\x0cb\n", "\n\n"])
def test_the_lines_of_a_text_are_those_that_git_counts(text: str) -> None:
    counted = text.count("\n") + (not text.endswith("\n"))
    assert len(highlight.lines("a.py", text)) == max(1, counted)


def test_a_line_of_no_commit_and_a_file_of_none_have_no_origin(story: Story) -> None:
    folder = repository_of(story.project).git_dir
    assert origins(folder, []) == {}
    with pytest.raises(GitError, match="cannot find the origins"):
        lines_of(folder, story.done.commit, "none.py")
