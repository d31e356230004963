"""`aiswe tests write`: tests for a module of a project, shown as a diff or put on a branch."""

from __future__ import annotations

import socket

import pytest
from django.contrib.auth.models import User

from agents.engine.module_tests.write import write_tests
from projects.engine import testing
from projects.errors import IllegalMove
from projects.models import Event, Run, SealedReply
from projects.models.project import RECORDING
from projects.services.audit.chain import verify_chain
from projects.services.audit.events import event_blobs
from projects.services.planning import projects
from projects.services.planning.runs import pause_run, resume_run
from projects.storage.paths import repository_of
from tests.agents.engine.nodes.support import code
from tests.factories import make_user
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap, pytest.mark.usefixtures("in_process")]

MODULE = "def grade(points):\n    return 'A' if points > 89 else 'B'\n"
TESTS = "from grade import grade\n\n\ndef test_bounds():\n    assert (grade(90), grade(89)) == ('A', 'B')\n"
DEAD = f"worker:{socket.gethostname()}:999999999:1"


@pytest.fixture
def project(settings, tmp_path):
    settings.AISWE_HOME = tmp_path / "home"
    scenario = tmp_path / "scenario"
    (scenario / "TESTS").mkdir(parents=True)
    (scenario / "scenario.toml").write_text(
        'name = "t"\ntitle = "t"\ndescription = "d"\nmodel = "m"\nrecorded = true\n'
    )
    (scenario / "TESTS" / "tester-module.md").write_text(code("tests/test_grade.py", TESTS))
    made = projects.create_project("Marks", by=make_user("root", superuser=True), model=f"{RECORDING}{scenario}")
    repository = repository_of(made)
    base = repository.ensure("Marks")
    tree = repository.worktree("start", base)
    tree.write({"grade.py": MODULE})
    repository.fast_forward(tree.commit(base, "Start", "", {}))
    return made


def test_they_are_shown_as_a_diff_and_put_on_a_branch_that_the_gates_let_through(project, cli):
    said = cli.prints("tests", "write", project.slug, "grade", "--branch", "tests/grade")
    assert "+def test_bounds():" in said
    assert "branches 0 → 100 %" in said
    assert "On the branch tests/grade." in said
    repository = repository_of(project)
    assert "tests/test_grade.py" in repository.files("tests/grade")
    assert "tests/test_grade.py" not in repository.files(repository.head())


def test_a_target_that_was_not_met_ends_with_one(project, cli):
    change(project, {"grade.py": MODULE + "\n\ndef other(a):\n    if a:\n        return 1\n    return 2\n" * 2})
    found = cli.answers("tests", "write", project.slug, "grade", "--rounds", "1", code=1)
    assert (found["met"], found["passed"], found["branch"]) == (False, 1, "")


def change(project, files):
    repository = repository_of(project)
    base = repository.head()
    tree = repository.worktree("start", base)
    tree.write(files)
    repository.fast_forward(tree.commit(base, "More", "", {}))
    repository.remove("start")


def stream():
    (made,) = Run.objects.all()
    return made, list(Event.objects.filter(run=made).order_by("seq"))


def test_every_word_command_and_file_is_on_the_record_of_a_run(project, cli):
    found = cli.answers("tests", "write", project.slug, "grade", "--branch", "tests/grade")
    made, events = stream()
    assert (found["run"], made.kind, made.status, made.recording) == (made.pk, "tests", "finished", True)
    assert made.why == "1 test, branches 100 %, lines 100 %"
    types = [event.type for event in events]
    assert {"run.queued", "thought", "llm.usage", "file.diff", "cmd"} <= set(types)
    assert {"test.result", "coverage.result", "mutation.result"} <= set(types)
    assert types[-3:] == ["effect.intent", "git.commit", "run.finished"]
    (thought,) = [event for event in events if event.type == "thought"]
    assert "def test_bounds" in event_blobs(thought)["output"]
    assert made.usages.get().prompt_tokens > 100
    assert verify_chain(made.pk).ok
    assert not SealedReply.objects.exists()


def test_a_branch_that_is_there_is_refused_before_anything_is_asked(project, cli):
    for name, why in (("main", "already exists"), ("main/more", ""), ("-d", ""), ("a..b", ""), ("x.lock", "")):
        assert why in cli.refuses("tests", "write", project.slug, "grade", "--branch", name)
    assert not Run.objects.exists()


def test_house_rules_and_patterns_stand_in_the_prompt(project, settings, cli):
    (settings.AISWE_HOME / "patterns").mkdir(parents=True)
    (settings.AISWE_HOME / "patterns" / "tests.md").write_text("One assert a test.")
    cli.prints("tests", "write", project.slug, "grade")
    (thought,) = [event for event in stream()[1] if event.type == "thought"]
    assert "One assert a test." in event_blobs(thought)["prompt"][0]


def test_it_stops_at_the_budget_and_hands_out_what_passes(project, cli):
    change(project, {"grade.py": MODULE + "\n\ndef other(a):\n    if a:\n        return 1\n    return 2\n" * 2})
    project.limits = project.limits | {"task_tokens": 200}
    project.save()
    found = cli.answers("tests", "write", project.slug, "grade", code=1)
    assert found["passed"] == 1
    assert "200 tokens of this task is used up" in found["problem"]
    assert Run.objects.get().usages.count() == 1


def test_with_nothing_left_in_the_budget_it_says_so(project, cli):
    project.limits = project.limits | {"task_tokens": 0}
    project.save()
    assert "tokens of this task is used up" in cli.refuses("tests", "write", project.slug, "grade", code=1)
    assert Run.objects.get().status == "failed"


@each_row(
    ("files", "module", "says"),
    [
        ({}, "gradez", "There are: grade.py"),
        ({}, "", "There is no module ''"),
        ({"notes.txt": "x"}, "notes.txt", "notes.txt is not Python"),
        (
            {"pack/__init__.py": "", "pack/cart.py": "A = 1\n"},
            "pack",
            "without code of its own. There are: pack/cart.py",
        ),
        ({"shop/cart.py": "A = 1\n"}, "shop", "shop is a folder, not a module. There are: shop/cart.py"),
        ({"broken.py": "def f(:\n"}, "broken", "broken.py is not valid Python"),
        ({"names.py": '"""Names."""\nimport os\n'}, "names", "nothing to test in names.py"),
        ({"tests/test_x.py": "def test_x(): pass\n"}, "tests/test_x.py", "holds tests"),
    ],
)
def test_what_tests_cannot_be_written_for_is_wrong_use_and_leaves_no_run(project, cli, files, module, says):
    change(project, files | {"README.md": "# Marks"})
    assert says in cli.refuses("tests", "write", project.slug, module)
    assert not Run.objects.exists()


def test_a_suite_that_fails_is_named_with_its_first_failure_and_the_run_says_why(project, cli):
    change(project, {"tests/test_old.py": "def test_old():\n    assert 1 == 2\n"})
    said = cli.refuses("tests", "write", project.slug, "grade", code=1)
    assert "tests/test_old.py::test_old: assert 1 == 2" in said
    assert Run.objects.get().status == "failed"


def test_a_project_that_is_not_there_is_answered_with_those_that_are(project, cli):
    assert f"There are: {project.slug}" in cli.refuses("tests", "write", "nobody", "grade")


def test_a_run_whose_command_was_killed_is_ended_by_the_next(project, cli):
    dead = Run.objects.create(project=project, kind=Run.Kind.TESTS, status="running", lease_owner=DEAD)
    cli.prints("tests", "write", project.slug, "grade")
    dead.refresh_from_db()
    assert (dead.status, dead.why) == ("failed", "its command was killed")


def test_a_person_can_stop_it_and_it_cannot_be_resumed(project, monkeypatch, cli):
    def stop_first(context, module, **options):
        pause_run(Run.objects.get(), by=User.objects.get(username="root"))
        return write_tests(context, module, **options)

    monkeypatch.setattr(testing, "write_tests", stop_first)
    assert "was stopped" in cli.refuses("tests", "write", project.slug, "grade", code=1)
    made = Run.objects.get()
    assert made.status == "cancelled"
    Run.objects.filter(pk=made.pk).update(status="failed")
    with pytest.raises(IllegalMove, match="cannot be resumed"):
        resume_run(made, by=User.objects.get(username="root"))
