"""A plan of a chat: made of a goal, approved, followed step by step; and what a chat wrote is merged once it holds."""

from typing import Any

import pytest

from projects.engine.chat_merge import check, merge
from projects.errors import IllegalMove
from projects.models import Project
from projects.services.audit.chain import verify_run
from projects.storage.paths import repository_of
from tests.projects.engine.talking import Person, Talking, killed

pytestmark = pytest.mark.django_db(transaction=True)
PLAN = "1. Write adder.py with add(a, b)\n2. **Write test_adder.py** with a test\n3. Run the tests"
ADDER = "<<WRITE: adder.py>>\ndef add(a: int, b: int) -> int:\n    return a + b\n<</WRITE>>"
ASSERTS = "from adder import add\n\n\ndef test_add() -> None:\n    assert add(2, 3) == 5\n"
TEST = f"<<WRITE: test_adder.py>>\n{ASSERTS}<</WRITE>>"


def test_a_goal_becomes_a_plan_and_nothing_is_done_before_the_yes(talking: Talking) -> None:
    person = Person("no", approves=False)
    with talking([f"{ADDER}\n\n{PLAN}"], person) as (chat, _):
        assert chat.plan("Create a package that adds two numbers, with a test") is None
        assert "adder.py" not in chat.context.files.paths()
    (shown,) = person.plans
    assert [step.description for step in shown.steps] == [
        "Write adder.py with add(a, b)",
        "Write test_adder.py with a test",
        "Run the tests",
    ]


def test_words_instead_of_a_yes_make_another_plan(talking: Talking) -> None:
    person = Person(approves=False, wants="Use pytest")
    with talking(lambda _: PLAN, person) as (chat, model):
        assert chat.plan("A package") is None
    assert len(person.plans) == 5
    assert "1. Write adder.py with add(a, b)\n" in model.last()
    assert "wants it different:\nUse pytest" in model.last()


@pytest.mark.bubblewrap
def test_an_approved_plan_is_followed_and_corrects_itself(talking: Talking, project: Project, settings: Any) -> None:
    person = Person("no")  # the plan was approved: nothing else has to be
    run = "<<EXEC: python -m pytest -q test_adder.py>>"
    replies = [
        PLAN,
        ADDER.replace("a + b", "a - b"),
        "The function is there.",
        TEST,
        "The test is there.",
        run,
        "It fails, I cannot see why.",
        "<<EDIT: adder.py>>\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n<</EDIT>>\n"
        + run,
        "All tests pass.",
    ]
    with talking(replies, person) as (chat, model):
        assert chat.plan("Create a package that adds two numbers, with a test") is not None
        chat.follow()
        plan = chat.conversation.plan
        assert plan is not None
        assert [step.state for step in plan.steps] == ["done"] * 3
        assert not person.wishes
        assert "[x] 1. Write adder.py" in model.last(5)
        assert "The last try of this step failed" in model.last(7)
        chat.say("And now?")
        found = check(chat)
        assert (found.ok, found.tested, found.tests) == (True, True, "1 passed")
        sha = merge(chat)
    repository = repository_of(project)
    assert repository.base_head() == sha
    assert "a + b" in (repository.read(sha, "adder.py") or "")
    assert verify_run(chat.run.pk).ok


def test_a_prompt_that_broke_off_does_not_become_a_step_of_the_plan(talking: Talking) -> None:
    person = Person()
    replies = ["1. Look", "<<READ: README.md>>", "<<READ: AGENTS.md>>", "Looked."]
    with talking(replies, person) as (chat, model):
        assert chat.plan("Look around") is not None
        person.finished = killed  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            chat.say("Read the README")
        person.finished = lambda command, result: person.results.append(result)  # type: ignore[method-assign]
        (exchange,) = chat.follow()
    assert exchange.prompt == "Step 1: Look"
    assert "Do step 1 now" in str(model.prompts[2])
    assert [one.prompt for one in chat.conversation.exchanges] == ["Read the README", "Step 1: Look"]


@pytest.mark.bubblewrap
def test_a_chat_that_only_takes_files_away_is_merged(talking: Talking, project: Project, settings: Any) -> None:
    with talking(["<<DELETE: README.md>>", "It is gone."], Person()) as (chat, _):
        chat.say("Take the README away")
        sha = merge(chat)
    assert repository_of(project).read(sha, "README.md") is None


@pytest.mark.bubblewrap
def test_what_fails_its_tests_or_the_gates_is_not_merged(talking: Talking, project: Project, settings: Any) -> None:
    code = "import subprocess\n\n\ndef run(line: str) -> int:\n    return subprocess.call(line, shell=True)"
    unsafe = f"<<WRITE: run.py>>\n{code}\n<</WRITE>>"
    bad = ADDER.replace("a + b", "a - b")
    with talking([f"{bad}\n{TEST}\n{unsafe}", "There."], Person()) as (chat, _):
        chat.say("Write them")
        with pytest.raises(IllegalMove, match="Not merged"):
            merge(chat)
        found = check(chat)
    assert not found.ok
    assert any("test" in reason for reason in found.reasons)
    assert found.gates.verdict != "pass"
    assert repository_of(project).read(repository_of(project).base_head(), "adder.py") is None
