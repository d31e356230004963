"""A chat: prompts and replies on record, on a branch of its own, remembered, and back where it was."""

from typing import Any

import pytest

from agents.engine.contracts import OverBudget
from agents.events.effects import CommitMade, FileChanged, PermissionDecided
from agents.events.lifecycle import HumanMessage
from agents.llm.base import LLMError
from projects.engine import chat as engine
from projects.errors import IllegalMove
from projects.models import Chat, Project, Run
from projects.services.audit.chain import verify_run
from projects.storage.paths import repository_of
from tests.factories import owner_of
from tests.projects.engine.talking import HELLO, Person, Talked, Talking, answering, killed, types_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_file_is_written_with_leave_committed_to_a_branch_and_on_record(talked: Talked, project: Project) -> None:
    person = Person()
    chat, model, exchange = talked(
        [HELLO, "It is there."], person, "Create a file named hello.py that prints 'Hello, World!'"
    )
    assert exchange.response.endswith("It is there.")
    assert [wish.title for wish in person.wishes] == ["create hello.py"]
    assert "+print('Hello, World!')" in person.wishes[0].detail
    assert person.spoken.startswith("<<WRITE: hello.py>>")
    assert "OK: created hello.py, 1 lines." in model.last()
    repository = repository_of(project, chat.run)
    assert repository.line == f"aiswe/chat-{chat.run.pk}"
    assert repository.read(repository.head(), "hello.py") == "print('Hello, World!')\n"
    assert repository.read(repository.base_head(), "hello.py") is None, "the base branch is left alone"
    assert {kind.type for kind in (HumanMessage, PermissionDecided, FileChanged, CommitMade)} <= types_of(chat.run)
    assert verify_run(chat.run.pk).ok
    assert Chat.objects.get(run=chat.run).title.startswith("Create a file named hello.py")
    assert Run.objects.get(pk=chat.run.pk).status == Run.Status.PAUSED


def test_of_a_long_prompt_the_record_has_both_ends_and_says_what_is_left_out(talked: Talked) -> None:
    log = "What is wrong?\n" + "one row\n" * 2_000 + "ValueError"
    chat, model, _ = talked(["It is the last row."], Person(), log)
    text = chat.run.events.get(type=HumanMessage.type).payload["text"]
    assert text.startswith("What is wrong?")
    assert text.endswith("ValueError")
    assert "characters left out" in text
    assert model.last().endswith(log)


def test_five_exchanges_are_remembered_the_others_keep_a_line_each(talking: Talking) -> None:
    with talking(lambda messages: f"Answer {len(messages)}", Person()) as (chat, model):
        for number in range(8):
            chat.say(f"Question {number}?")
        chat.say("And now?")
    asked = [message["content"] for message in model.prompts[-1] if message["role"] == "user"]
    assert len(asked) == 6
    assert [f"Question {number}?" in asked[number - 3] for number in range(3, 8)] == [True] * 5
    assert "Earlier in this conversation:" in asked[0]
    assert "- Question 2?" in asked[0]


def test_a_chat_comes_back_with_what_was_said_and_done(talking: Talking, talked: Talked) -> None:
    chat, _, _ = talked([HELLO.replace("hello", "config"), "Created."], Person(), "Create config.py")
    with talking(["It was config.py."], Person(), run=chat.run) as (again, model):
        again.say("What was the file we created in our last session?")
    text = "\n".join(message["content"] for message in model.prompts[0])
    assert "config.py" in text
    assert "write config.py: ok" in text


def test_the_model_is_shown_again_what_it_wrote_as_the_prompt_documents_it(talked: Talked) -> None:
    replies = [
        "<<Write: a.py>\n```python\nx = 1\n```\n</WRITE>\n<<READ: a.py>>\nOutput:\nx = 7",
        "It is there.",
        "You are welcome.",
    ]
    person = Person()
    _, model, _ = talked(replies, person, "Write a.py", "Thanks")
    remembered = [(one["role"], one["content"]) for one in model.prompts[-1]][1:-1]
    assert remembered == [
        ("user", "Write a.py"),
        ("assistant", "<<WRITE: a.py>>\nx = 1\n<</WRITE>>\n<<READ: a.py>>"),
        ("user", "Results of your commands:\n- write a.py: ok\n- read a.py: ok"),
        ("assistant", "It is there."),
    ]
    assert model.prompts[1][2]["content"] == remembered[1][1]
    assert any("before they ran" in notice for notice in person.notices)


def test_a_turn_that_died_is_gone_on_with_and_nothing_is_done_twice(talking: Talking) -> None:
    person = Person()
    person.finished = killed  # type: ignore[method-assign]
    with talking([f"{HELLO}\n<<READ: hello.py>>"], person) as (chat, _):  # noqa: SIM117
        with pytest.raises(KeyboardInterrupt):
            chat.say("Write and read it")
    run = Run.objects.get(kind=Run.Kind.CHAT)
    person = Person()
    with talking(["All done."], person, run=run) as (again, model):
        assert again.conversation.turn is not None
        exchange = again.go_on()
    assert exchange.prompt == "Write and read it"
    assert exchange.response.endswith("All done.")
    assert len(model.prompts) == 1, "the reply that was paid for is not asked for again"


def test_one_process_at_a_time_holds_a_chat(talking: Talking, project: Project) -> None:
    with talking([], Person()) as (chat, _):
        by = owner_of(project)
        with pytest.raises(IllegalMove, match="open elsewhere"), engine.open_chat(chat.run, by=by, surface=Person()):
            pass


def test_without_a_model_the_turn_waits_and_can_be_gone_on_with(talking: Talking, settings: Any) -> None:
    with talking([], Person()) as (chat, _):
        settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": "http://127.0.0.1:9"}
        with pytest.raises(LLMError):
            chat.say("Hello?")
        with answering(settings, ["Hello."]):
            assert chat.go_on().response == "Hello."


def test_a_model_that_asks_for_the_same_for_ever_is_stopped(talked: Talked) -> None:
    person = Person()
    _, model, _ = talked(lambda _: "<<READ: README.md>>", person, "Read it")
    assert len(model.prompts) < 6
    assert "again and again" in person.notices[0]


def test_a_long_chat_has_the_budget_of_a_run_and_says_when_it_is_used_up(talking: Talking, project: Project) -> None:
    project.limits = {**project.limits, "task_tokens": 10, "run_tokens": 500}
    project.save()
    with talking(lambda _: "An answer.", Person()) as (chat, _):
        chat.say("One?")
        chat.say("Two?")
        with pytest.raises(OverBudget, match="500 tokens of this run"):
            [chat.say("Another?") for _ in range(9)]
