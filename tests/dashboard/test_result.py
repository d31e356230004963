"""The result of a build: what was built, what is left out; and what never looks like a success."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from agents.workspace import changes
from aiswe_site.cli.app import run as command
from aiswe_site.startup import django as site_django
from projects.models import Run, Task
from projects.services.delivery.start import how_to_start
from projects.services.delivery.state import project_state, requirement_states, result
from projects.storage.paths import repository_of
from tests.dashboard.story import CODE, Story, finish
from tests.factories import PRD, make_document, make_plan, make_run
from tests.rows import emit
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story, monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)
    return story_with_code


def page(client: Client, story: Story) -> str:
    answer = client.get(reverse("run-result", args=[story.run.pk]))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def states(story: Story) -> dict[str, str]:
    return {one.requirement.key: one.state for one in requirement_states(story.project)}


def test_with_tasks_left_out_it_is_no_success(story: Story, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    finish(story)
    text = page(client, story)
    assert "3 tasks are left out; 1 of 2 requirements met" in " ".join(text.split())
    assert "verdict partly" in text
    assert "is built" not in text
    assert states(story) == {"FR-01": "done", "FR-02": "left_out"}
    for address in (
        "/",
        "/runs",
        "/audit",
        reverse("project", args=[story.project.pk]),
        reverse("run", args=[story.run.pk]),
    ):
        shown = client.get(address).content.decode()
        assert "finished, 3 left out" in shown, address
        assert "<span>finished</span>" not in shown, address
    assert command(["history"]) == 0
    assert "finished, 3" in " ".join(capsys.readouterr().out.split())
    assert command(["run", "watch", str(story.run.pk), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["left_out"] == 3
    assert command(["project", "state", story.project.slug, "--json"]) == 1


def test_the_tests_of_a_merge_are_those_of_the_newest_run_of_the_suite(story: Story, client: Client) -> None:
    finish(story, whole=True)
    assert "4 passed, 0 failed" in page(client, story)
    again = {"passed": 6, "failed": 0, "errors": 0, "skipped": 1, "failures": []}
    emit(story.run.pk, "test.result", summary="after a rebase", payload=again, task_id=story.done.pk, role="tester")
    assert "6 passed, 0 failed, 1 skipped" in page(client, story)


def test_a_run_that_left_nothing_out_succeeds(story: Story, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    finish(story, whole=True)
    text = page(client, story)
    assert "Todo API is built: 2 of 2 requirements met" in text
    assert "verdict whole" in text
    assert command(["run", "watch", str(story.run.pk), "--json"]) == 0
    capsys.readouterr()
    assert command(["project", "state", story.project.slug, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["head"] == story.done.commit
    assert told["requirements"][0] == {
        "document": str(story.document),
        "key": "FR-01",
        "author_key": "",
        "state": "done",
        "tests": 1,
        "commits": [story.done.commit],
    }


def test_a_requirement_without_a_task_is_not_planned_and_no_success(story: Story, client: Client) -> None:
    finish(story, whole=True)
    extra = story.document.requirements.create(ordinal=9, key="FR-09", text="The user shall sort.", kind="functional")
    assert states(story)["FR-09"] == "not_planned"
    assert "verdict partly" in page(client, story)
    extra.delete()
    story.document.requirements.create(ordinal=9, key="NG-01", text="No sorting.", kind="non_goal")
    assert "NG-01" not in states(story)


def test_a_build_under_way_says_so(story: Story, client: Client) -> None:
    assert states(story)["FR-02"] == "in_work"
    text = page(client, story)
    assert "Not finished: 1 of 2 requirements met so far" in text
    assert "verdict under-way" in text, "no warning while nothing is left out"
    assert not result(story.run).is_whole


def test_a_requirement_whose_words_changed_is_a_new_one(story: Story) -> None:
    finish(story, whole=True)
    newer = make_document(story.project, text=f"{PRD}\nMore words.\n")
    assert states(story) == {"FR-01": "done", "FR-02": "done"}
    newer.requirements.filter(key="FR-02").update(text="The user shall mark a to-do as done twice.")
    shown = [
        (str(one.requirement.document), one.requirement.key, one.state) for one in requirement_states(story.project)
    ]
    assert shown == [
        (str(newer), "FR-01", "done"),
        (str(newer), "FR-02", "not_planned"),
        (str(story.document), "FR-02", "done"),
    ]


def test_what_an_earlier_document_asked_for_stays_in_sight_and_apart(
    story: Story, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    finish(story)
    newer = make_document(story.project, text=f"{PRD}\nMore words.\n")
    newer.requirements.filter(key="FR-01").update(text="The user shall sort.")
    newer.requirements.filter(key="FR-02").update(text="The user shall search.")
    run = make_run(make_plan(newer, needs={"T-01": []}))
    Task.objects.filter(run=run).update(status="merged")
    Run.objects.filter(pk=run.pk).update(status="finished")
    assert command(["project", "state", story.project.slug, "--json"]) == 1  # the earlier FR-02 is still left out
    told = json.loads(capsys.readouterr().out)["requirements"]
    assert [(one["document"], one["key"], one["state"]) for one in told] == [
        (str(newer), "FR-01", "done"),
        (str(newer), "FR-02", "done"),
        (str(story.document), "FR-01", "done"),
        (str(story.document), "FR-02", "left_out"),
    ]
    text = " ".join(client.get(reverse("run-result", args=[run.pk])).content.decode().split())
    assert "2 of 2 requirements met" in text
    assert f"From {story.document.filename}, version 1" in text
    assert f"?v=1#R-{story.document.requirements.get(key='FR-02').pk}" in text
    assert len(requirement_states(story.project, story.run)) == 2  # as it stood then


def test_a_build_that_merged_nothing_says_so(story: Story, client: Client) -> None:
    Task.objects.filter(run=story.run).update(status="skipped", commit="")
    finish(story)
    assert "Nothing was merged." in page(client, story)
    assert project_state(story.waiting_plan.project)["head"] == ""


def test_tests_are_counted_in_test_files_alone(story: Story) -> None:
    repository = repository_of(story.project)
    base = repository.head()
    tree = repository.worktree("more", base)
    tests = (
        "import pytest\n\n\ndef test_a():\n    pass\n\n\nasync def test_b():\n    pass\n\n\ndef helper():\n    pass\n"
    )
    tree.write({"tests/test_more.py": tests, "app/more.py": "def test_run():\n    pass\n"})
    commit = tree.commit(base, "More", "", {})
    assert changes.tests_added(repository.git_dir, [commit, story.done.commit]) == {commit: 2, story.done.commit: 1}
    assert changes.tests_added(repository.git_dir, []) == {}


@each_row(
    ("files", "source", "first"),
    [
        ({"README.md": "# X\n\n## Usage\n\n```bash\npython -m app\n```\n"}, "README.md", "python -m app"),
        (
            {"README.md": "# X\n\n    {'a': 1}\n\nText\n\n    docker build .\n\n    docker run x\n"},
            "README.md",
            "docker b",
        ),
        ({"README.md": "# X\n\n```json\n{}\n```\n", "manage.py": ""}, "manage.py", "python manage.py"),
        ({"pyproject.toml": '[project]\nname = "x"\n[project.scripts]\ntodo = "app:main"\n'}, "pyproject.toml", "pip"),
        ({"manage.py": "", "requirements.txt": "django\n"}, "manage.py", "pip install -r requirements.txt"),
        ({"package.json": '{"scripts": {"start": "node ."}}'}, "package.json", "npm install"),
        (
            {
                "README.md": "## Use\n\n    pip install --upgrade x\n\nOr\n\n    pip install ./x\n",
                "setup.cfg": "name = x",
            },
            "README.md",
            "pip install ./x",
        ),
        ({"src/todo/__main__.py": ""}, "src/todo/__main__.py", "python -m todo"),
        ({"pyproject.toml": "broken [", "package.json": "[]"}, "its tests", "python -m pytest"),
    ],
)
def test_its_own_files_say_how_to_start_it(story: Story, files: dict[str, str], source: str, first: str) -> None:
    repository = repository_of(story.project)
    tree = repository.worktree("start", repository.head())
    tree.write({**CODE, **files})
    told = how_to_start(repository, tree.commit(repository.head(), "Start", "", {}))
    assert told is not None
    assert (told.source, told.lines[0].startswith(first)) == (source, True)


@pytest.mark.parametrize(
    ("state", "chip"), [("ok", "<span>built</span>"), ("not built", "<span>not built</span>"), ("failed", "failed")]
)
def test_what_came_of_a_container_is_on_task_and_result(story: Story, client: Client, state: str, chip: str) -> None:
    task = story.done
    for summary in ("Dockerfile: an older one", "Dockerfile: no <b>engine</b>"):
        row = {"path": "Dockerfile", "state": state, "tail": "cat: /gone", "problem": "", "health": "", "user": ""}
        row |= {"ports": [], "packages": [], "size_mb": 0, "seconds": 0}
        emit(story.run.pk, "container.tried", task_id=task.pk, summary=summary, payload=row)
    finish(story)
    for text in (page(client, story), client.get(reverse("task", args=[task.pk])).content.decode()):
        section = text.partition("Containers" if "Numbers" in text else 'id="tests"')[2]
        assert "Dockerfile: no &lt;b&gt;engine" in section
        assert chip in section
    assert "an older one" not in page(client, story)
