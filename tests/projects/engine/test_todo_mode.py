"""TODO mode: a task becomes TODOs that a person approves, each is judged before it is done; all can be gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.conversation import todo as todo_mode
from agents.conversation.display import call_lines, plan_lines, result_lines
from agents.conversation.planning import NoPlan
from agents.conversation.state import ChatPlan, ChatState, Command, ToolResult
from agents.conversation.todo_json import SCHEMA, schema_with
from agents.engine.contracts import OverBudget
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import CommitMade, PermissionDecided
from agents.events.lifecycle import HumanMessage, TodoChanged
from agents.events.reasoning import DecisionMade, Thought
from projects.engine import chat as engine
from projects.engine.chat_turns import take
from projects.models import Approval, Chat, Project, Run
from projects.services.audit.chain import verify_run
from projects.services.decisions.approvals import answer_chat
from projects.storage.paths import repository_of
from tests.factories import make_project, owner_of
from tests.projects.engine.test_chat import Person, talking
from tests.replying_model import Reply, ReplyingModel, replying_model

pytestmark = [pytest.mark.django_db(transaction=True)]
TASK = "Greet everybody: a script hello.py, and a line about it in README.md"


def said(message: str, **more: Any) -> str:
    return json.dumps({"message": message, **more})


def todo(description: str, expected: str = "It is there") -> dict[str, str]:
    return {"description": description, "expected": expected, "status": "pending"}


def tool(name: str, message: str = "Working.", **given: Any) -> str:
    return said(message, tool={"name": name, "input": given})


def judged(accepted: bool, feedback: str = "As expected.") -> str:
    return said("I compare.", judgement={"accepted": accepted, "feedback": feedback})


SCRIPT = "hello.py"
ONE = said("One step.", todos=[todo("Write the script", "It prints a greeting")])
WRITE = f'{said("I write it.")}\n<<WRITE: {SCRIPT}>>\nprint("Hello")\n<</WRITE>>'
DONE, END = said("It is there.", complete=True), said("Everybody is greeted.", complete=True)
RIGHT = judged(True)


class Planner(Person):
    """A person who answers questions about plans in this order, then with yes; all that was shown is kept."""

    def __init__(self, *answers: tuple[bool, str] | Exception, confirms: bool = True) -> None:
        super().__init__(confirms=confirms)
        self.answers = list(answers)
        self.shown: list[str] = []
        self.asked: list[str] = []
        self.states: list[list[str]] = []

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        self.asked.append("\n".join(plan_lines(plan)))
        answer = self.answers.pop(0) if self.answers else (True, "")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def started(self, command: Command) -> None:
        self.shown += call_lines(command)

    def finished(self, command: Command, result: ToolResult) -> None:
        super().finished(command, result)
        self.shown += result_lines(result)

    def progress(self, plan: ChatPlan) -> None:
        self.states.append([step.state for step in plan.steps])


@pytest.fixture
def project(tmp_path: Path, settings: Any) -> Project:
    settings.AISWE_HOME = tmp_path / "home"
    return make_project("Workspace")


@contextmanager
def working(
    project: Project, replies: Sequence[str] | Reply, person: Person, settings: Any, run: Run | None = None
) -> Iterator[tuple[engine.OpenChat, ReplyingModel]]:
    with talking(project, replies, person, settings, run=run) as (chat, model):
        chat.set_mode("todo")
        yield chat, model


def events(run: Run, kind: str) -> list[dict[str, Any]]:
    return [event.payload for event in run.events.filter(type=kind).order_by("seq")]


def test_a_task_becomes_todos_that_are_shown_confirmed_worked_on_judged_and_confirmed_as_complete(
    project: Project, settings: Any
) -> None:
    plan = said("Two steps.", todos=[todo("Write the script", "It prints a greeting"), todo("Add a line to README.md")])
    edit = tool("create_file", path="docs/hello.md", content="hello.py greets.\n")
    person = Planner()
    replies = [plan, WRITE, DONE, RIGHT, edit, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):
        exchange = chat.say(TASK)
        assert chat.conversation.turn is None
    (shown,) = person.asked
    for words in ("[ ] pending: TODO 1: Write the script", "Expected: It prints a greeting", "TODO 2: Add a line"):
        assert words in shown
    assert person.states[0] == ["in_progress", "pending"]
    assert person.states[-1] == ["done", "done"]
    assert "**The task is complete (2 done).**" in exchange.response
    assert "Everybody is greeted." in exchange.response
    assert "Everybody is greeted." in person.spoken
    assert "Everybody is greeted." not in person.notices[-1], "nothing is said twice"
    assert not person.wishes, "what the approved plan writes needs no further question"
    repository = repository_of(project, chat.run)
    assert repository.read(repository.head(), SCRIPT) == 'print("Hello")\n'
    states = [(one["number"], one["state"]) for one in events(chat.run, TodoChanged.type)]
    assert states == [(1, "pending"), (2, "pending"), (1, "in_progress"), (1, "done"), (2, "in_progress"), (2, "done")]
    assert [one["choice"] for one in events(chat.run, DecisionMade.type)] == ["approved", "accepted", "accepted"]
    assert events(chat.run, CommitMade.type)
    assert verify_run(chat.run.pk).ok
    assert len(model.prompts) == len(replies)
    thoughts = list(chat.run.events.filter(type=Thought.type).order_by("seq").values_list("summary", flat=True))
    assert thoughts[0] == "TODOs, as JSON"
    assert "The judgement of a TODO, as JSON" in thoughts


def test_a_no_with_words_has_it_planned_again_and_a_plain_no_does_nothing(project: Project, settings: Any) -> None:
    person = Planner((False, "in French"), (False, ""))
    with working(project, [ONE, said("Other.", todos=[todo("Écrire")])], person, settings) as (chat, model):
        exchange = chat.say(TASK)
    assert "The person adds:\nin French" in model.last(1)
    assert "TODO 1: Écrire" in person.asked[1]
    assert exchange.response == "Nothing was done: the plan was not approved."
    assert person.notices == [exchange.response], "the person is told"
    assert len(model.prompts) == 2
    assert not events(chat.run, CommitMade.type)
    assert "in French" in [one["text"] for one in events(chat.run, HumanMessage.type)]


def test_files_may_be_looked_at_before_the_plan_but_nothing_is_written_or_run(project: Project, settings: Any) -> None:
    looks = f"{tool('find_files', words='README')}\n<<EXEC: touch x>>\n<<WRITE: x>>\nx\n<</WRITE>>"
    person = Planner((False, ""))
    with working(project, [looks, ONE], person, settings) as (chat, model):
        chat.say(TASK)
        assert "x" not in chat.context.files.paths()
    assert [result.ok for result in person.results] == [True, False, False]
    assert "Nothing is written or run before the plan is approved" in model.last(1)


def test_a_result_that_is_not_accepted_is_tried_again_with_the_feedback(project: Project, settings: Any) -> None:
    block = '<<<<<<< SEARCH\nprint("Hello")\n=======\nprint("Hello!")\n>>>>>>> REPLACE'
    again = f"{said('Again.')}\n<<EDIT: {SCRIPT}>>\n{block}\n<</EDIT>>"
    no, still = judged(False, "No exclamation mark."), judged(False, "Not yet.")
    person = Planner()
    replies = [ONE, WRITE, DONE, no, DONE, still, again, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):
        chat.say(TASK)
    assert "was not accepted: No exclamation mark." in model.last(4)
    assert "was not accepted: Not yet." in model.last(6)
    assert "TODO 1 not accepted: No exclamation mark." in model.last(6)
    assert "Note: No exclamation mark." in person.notices[0]
    assert len(person.asked) == 1, "no person was needed"
    decisions = [one["choice"] for one in events(chat.run, DecisionMade.type)]
    assert decisions == ["approved", "not accepted", "not accepted", "accepted"]


@pytest.mark.bubblewrap
def test_nothing_is_done_on_the_models_word_while_the_newest_command_failed(project: Project, settings: Any) -> None:
    settings.SANDBOX_BACKEND = "bubblewrap"
    run = tool("run_command", command="cat greeting.txt")
    mended = f"{said('It was missing.')}\n<<WRITE: greeting.txt>>\nHello\n<</WRITE>>"
    person = Planner()
    replies = [ONE, run, DONE, RIGHT, mended, DONE, RIGHT, run, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):
        chat.say(TASK)
    against = "The newest command failed (exec cat greeting.txt): exit code: 1."
    assert f"{against} The result cannot be accepted" in model.last(3), "whoever judges is told"
    assert "No such file" in model.last(3)
    assert f"not accepted: {against}" in model.last(4)
    assert f"{against} The result cannot be accepted" in model.last(6), "a file that was written since proves nothing"
    assert f"{against} The result cannot be accepted" not in model.last(9)
    assert "No such file" not in model.last(9), "what was run again is shown once"
    assert person.states[-1] == ["done"]
    notes = [one["reason"] for one in events(chat.run, TodoChanged.type) if one["state"] == "in_progress"]
    assert notes[-1] == against, "what praises it is left out"
    assert ("Tool: terminal", "  Input: cat greeting.txt") in list(zip(person.shown, person.shown[1:], strict=False))


@pytest.mark.parametrize(
    ("answer", "state"), [((True, ""), "done"), ((False, "use English"), "done"), ((False, ""), "skipped")]
)
def test_after_three_refusals_a_person_chooses_retry_adjust_or_skip(
    answer: tuple[bool, str], state: str, project: Project, settings: Any
) -> None:
    no = judged(False, "Wrong.")
    person = Planner((True, ""), answer)
    replies = [ONE, WRITE, DONE, no, DONE, no, DONE, no, *([DONE, RIGHT] if state == "done" else []), END]
    with working(project, replies, person, settings) as (chat, model):
        exchange = chat.say(TASK)
    question = person.asked[1]
    assert "[!] not accepted: TODO 1" in question
    assert "Its result was not accepted 3 times: Wrong." in question
    assert "Yes: retry. No, with words: adjust with these words, then retry. No: skip." in question
    assert person.states[-1] == [state]
    assert f"1 {state}" in exchange.response
    if answer[1]:
        assert "The person adds:\nuse English" in model.last(8)


def test_replies_in_a_small_models_json_are_understood_with_placeholders_for_what_is_missing(
    project: Project, settings: Any
) -> None:
    replies = [
        "Sure! Here is my plan:\n```json\n[{'task': 'Write the script'}, {},]\n```\nShall I {start}?",
        '{"message": "I write it", "tool": {"name": "createFile", "args": {"file": "hello.py", "content": "print(1)"',
        '{"complete": True, // yes\n}',
        '{"verdict": {"ok": "yes"}}',
        '{"todos": [{}, {"description": "(no description given)", "status": "done"}]}',
        "{accepted: true}",
        '{"done": "yes"} {"message": "All is well"}',
    ]
    person = Planner()
    with working(project, replies, person, settings) as (chat, model):
        exchange = chat.say(TASK)
    assert "Expected: (no expected result given)" in person.asked[0]
    assert person.states[-1] == ["done"]
    assert "All is well" in exchange.response
    assert "(no message given)" in model.last(3)
    assert "(no feedback given)" in exchange.response


def test_a_reply_without_json_is_asked_for_twice_more_then_shown_as_words_with_the_choice(
    project: Project, settings: Any
) -> None:
    person = Planner((True, ""), (True, ""), (False, ""))
    words = "I would rather talk about the weather."
    replies = [words, words, words, ONE, words, words, words, END]
    with working(project, replies, person, settings) as (chat, model):
        chat.say(TASK)
    assert "Your last reply could not be used: it holds no JSON object of the shape" in model.last(1)
    assert f"The model made no TODOs. It says: {words}" in person.asked[0]
    assert f"The model's replies cannot be used. It says: {words}" in person.asked[2]
    assert "No: skip." in person.asked[2]
    assert person.states[-1] == ["skipped"]
    assert len(model.prompts) == len(replies)


def test_each_tool_is_shown_with_its_input_and_output_and_errors_with_next_steps(
    project: Project, settings: Any
) -> None:
    replies = [
        ONE,
        tool("find_files", words="README"),
        tool("read_file", path="missing.md"),
        tool("create_file", path="notes.txt", content="one\ntwo\n"),
        tool("edit_file", path="notes.txt", search="two", replace="three"),
        tool("edit_file", path="notes.txt", patch="@@ -1,2 +1,3 @@\n one\n three\n+four\n"),
        tool("search_web", query="greetings"),
        tool("ask_person", question="Is it polite?"),
        tool("todo_add", description="Say goodbye", expected="A line"),
        tool("todo_update", number=2, description="Say farewell"),
        tool("todo_skip", number=2, reason="not asked for"),
        tool("todo_done", number=1),
        RIGHT,
        END,
    ]
    person = Planner()
    with working(project, replies, person, settings) as (chat, _):
        chat.say(TASK)
        assert chat.context.files.read("notes.txt") == "one\nthree\nfour\n"
    shown = "\n".join(person.shown)
    for words in (
        "Tool: file search\n  Input: README\n  Output: README.md",
        "Failed: read file (read missing.md)\n  Error: File not found at 'missing.md'.\n  Next: adjust: name a file",
        "Tool: write file\n  Input: notes.txt\n  Content:\n    one\n    two\n  Output: OK: created notes.txt, 2 lines.",
        "Tool: edit file\n  Input: notes.txt\n  Content:\n    <<<<<<< SEARCH",
        "Failed: web search (search greetings)",
        "Tool: question\n  Input: Is it polite?\n  Output: The person answered: yes.",
        "Tool: add TODO\n  Input: Say goodbye",
        "Output: OK: TODO 2 is changed.",
        "Tool: skip TODO\n  Input: 2",
        "Tool: TODO done\n  Input: 1",
    ):
        assert words in shown
    assert person.questions[-1] == "Skip TODO 2 (Say farewell)? not asked for"
    assert person.states[-1] == ["done", "skipped"]


def test_the_model_changes_and_skips_no_todo_against_a_persons_no(project: Project, settings: Any) -> None:
    person = Planner(confirms=False)
    skip, weaken = tool("todo_skip", number=1), tool("todo_update", number=1, expected="Nothing")
    with working(project, [ONE, skip, weaken, WRITE, DONE, RIGHT, END], person, settings) as (chat, model):
        chat.say(TASK)
    assert "Expected result: It prints a greeting" in model.last(3)
    assert [result.ok for result in person.results] == [False, False, True]
    assert [one["answer"] for one in events(chat.run, PermissionDecided.type)] == ["no", "no"]


def test_every_call_is_shown_everything_afresh(project: Project, settings: Any) -> None:
    two = said("Two.", todos=[todo("Write the script"), todo("Write the notes")])
    read = tool("read_file", path=SCRIPT)
    replies = [two, WRITE, read, DONE, RIGHT, tool("read_file", path="README.md"), DONE, RIGHT, END]
    with working(project, replies, Planner(), settings) as (chat, model):
        chat.say(TASK)
    for prompt in model.prompts:
        assert [message["role"] for message in prompt] == ["system", "user"], "no call leans on an earlier one"
        assert TASK in prompt[-1]["content"]
        assert "README.md" in prompt[-1]["content"]
    last = model.last(6)
    assert "[x] done: TODO 1: Write the script" in last
    assert "[>] in progress: TODO 2: Write the notes" in last
    assert "write hello.py: ok\nread hello.py: ok\nTODO 1 done: Write the script" in last
    assert 'print("Hello")' in model.last(3), "the newest results word for word"
    assert 'path=hello.py from=repository\nprint("Hello")' in model.last(4), "whoever judges sees the files as they are"
    assert "hello.py" in last.partition("Files of the workspace:")[2]


def test_a_file_that_was_changed_is_shown_as_it_is_and_no_longer_as_it_was_read(
    project: Project, settings: Any
) -> None:
    reads = f"{said('I look.')}\n<<READ: ./{SCRIPT}:1-1>>\n<<READ: README.md>>"
    again = WRITE.replace("Hello", "Goodbye")
    replies = [ONE, WRITE, reads, again, tool("read_file", path=SCRIPT), DONE, RIGHT, END]
    with working(project, replies, Planner(), settings) as (chat, model):
        chat.say(TASK)
    assert f'path={SCRIPT} from=repository\nprint("Hello")' in model.last(2), "a model does not remember what it wrote"
    changed = model.last(4)
    assert 'print("Hello")' not in changed
    assert f'path={SCRIPT} from=repository\nprint("Goodbye")' in changed
    assert "read README.md:\n" in changed
    assert f"read {SCRIPT}:\n" in model.last(5), "what was read since is kept"


@pytest.mark.bubblewrap
def test_a_result_claimed_along_with_a_command_that_fails_is_worked_on_and_not_judged(
    project: Project, settings: Any
) -> None:
    settings.SANDBOX_BACKEND = "bubblewrap"
    run = {"name": "run_command", "input": {"command": "cat greeting.txt"}}
    done = {"name": "todo_done", "input": {}}
    hasty = [said("It prints it.", tool=run, complete=True), said("It prints it.", tool=[run, done])]
    written = "<<WRITE: greeting.txt>>\nHello\n<</WRITE>>\n<<EXEC: cat greeting.txt>>"
    mended = f"{said('It was missing.', complete=True)}\n{written}"
    person = Planner()
    with working(project, [ONE, *hasty, mended, RIGHT, END], person, settings) as (chat, model):
        chat.say(TASK)
    waits = "TODO 1 is not judged yet: The newest command failed (exec cat greeting.txt): exit code: 1."
    assert [model.last(at).count(waits) for at in (2, 3)] == [1, 2]
    assert "Judge the result" in model.last(4)
    assert person.states[-1] == ["done"]
    assert [one["choice"] for one in events(chat.run, DecisionMade.type)] == ["approved", "accepted"]


def test_what_has_no_file_in_it_is_asked_with_the_schema(project: Project, settings: Any) -> None:
    person = Planner()
    with working(project, [ONE, WRITE, DONE, RIGHT, END], person, settings) as (chat, model):
        chat.say(TASK)
    assert model.schemas == [SCHEMA, None, None, schema_with("judgement"), schema_with("complete")]
    assert person.spoken.splitlines()[0] == "One step."
    assert "{" not in person.spoken, "people read the message instead of the JSON"


@pytest.mark.parametrize(
    ("call", "dies_at"), [("finished", 1), ("finished", 3), ("replied", 2), ("replied", 6), ("progress", 2)]
)
def test_a_killed_mode_goes_on_where_it_was_and_does_nothing_twice(
    call: str, dies_at: int, project: Project, settings: Any
) -> None:
    person, times = Planner(), iter(range(1, 100))
    whole = getattr(person, call)

    def dying(*given: Any) -> None:
        whole(*given)
        if next(times) == dies_at:
            raise KeyboardInterrupt

    setattr(person, call, dying)
    more = [tool("create_file", path=f"{name}.txt", content="x") for name in "ab"]
    replies = [ONE, WRITE, *more, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):  # noqa: SIM117
        with pytest.raises(KeyboardInterrupt):
            chat.say(TASK)
    left = replies[len(model.prompts) :]
    person = Planner()
    with working(project, left, person, settings, run=chat.run) as (again, model):
        exchange = again.go_on()
        assert {SCRIPT, "a.txt", "b.txt"} <= set(again.context.files.paths())
    assert "The task is complete" in exchange.response
    assert len(model.prompts) == len(left), "no reply that was paid for is asked for again"
    assert not person.asked
    assert verify_run(chat.run.pk).ok


def test_it_waits_for_a_person_in_the_middle_of_a_todo_and_at_each_question(project: Project, settings: Any) -> None:
    absent = Waiting(WaitReason.CONFIRMATION)

    class Absent(Planner):
        def confirm(self, question: str) -> bool:
            raise absent

    question = tool("ask_person", question="Is it polite?")
    no = judged(False, "Wrong.")
    replies = [ONE, question, DONE, no, DONE, no, DONE, no, END]
    with working(project, replies, Absent(absent), settings) as (chat, model):
        with pytest.raises(Waiting):
            chat.say(TASK)
        assert len(model.prompts) == 1
        with pytest.raises(Waiting):
            chat.go_on()
        assert len(model.prompts) == 2
    with working(project, replies[2:], Planner(absent, (False, "")), settings, run=chat.run) as (again, model):
        with pytest.raises(Waiting):
            again.go_on()
        assert "The person answered: yes." in model.last(0)
        exchange = again.go_on()
    assert "1 skipped" in exchange.response


@pytest.mark.parametrize("kind", ["the same", "something else", "no json", "not yet"])
def test_a_model_that_never_ends_is_ended_even_by_a_person_who_always_says_yes(
    kind: str, project: Project, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(todo_mode, "ROUNDS", 3)
    calls = iter(range(10_000))

    def reply(messages: list[dict[str, Any]]) -> str:
        asked = messages[-1]["content"]
        if "Break the task into TODOs" in asked:
            return ONE
        if "All TODOs are settled" in asked:
            return said("More.", complete=False, todos=[todo(f"Number {next(calls)}")])
        if "Judge the result" in asked:
            return judged(kind == "not yet", "No.")
        number = next(calls) if kind == "something else" else 0
        return {"no json": "Hm.", "not yet": DONE}.get(kind) or tool("find_files", words=f"README{number or ''}")

    person = Planner()
    with working(project, reply, person, settings) as (chat, model):
        exchange = chat.say(TASK)
    assert "The task is not complete" in exchange.response
    assert len(person.states[-1]) == 3, "TODOs are added twice at most"
    assert len(model.prompts) < 60
    assert any("1 more TODO(s) are needed" in asked for asked in person.asked)


def test_a_tool_fails_and_the_person_skips_the_todo(project: Project, settings: Any) -> None:
    two = said("Two.", todos=[todo("Change the notes"), todo("Write the script")])
    edit = tool("edit_file", path="notes.txt", search="a", replace="b")
    no = judged(True, "I think it is fine.")
    person = Planner((True, ""), (False, ""))
    replies = [two, edit, DONE, no, DONE, no, DONE, no, WRITE, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):
        exchange = chat.say(TASK)
    assert "The newest command failed (edit notes.txt): ERROR: File not found at 'notes.txt'" in person.asked[1]
    assert person.states[-1] == ["skipped", "done"]
    assert "skipped by the person's choice, do not add them again: 1" in model.last()
    assert "1 done, 1 skipped" in exchange.response


def test_todos_that_are_missing_at_the_end_are_shown_and_done_after_a_yes(project: Project, settings: Any) -> None:
    more = said("A test is missing.", complete=False, todos=[todo("Write a test")])
    person = Planner((True, ""), (False, "no tests, a page"), (True, ""))
    page = said("A page then.", complete=False, todos=[todo("Write a page")])
    replies = [ONE, WRITE, DONE, RIGHT, more, page, DONE, RIGHT, END]
    with working(project, replies, person, settings) as (chat, model):
        exchange = chat.say(TASK)
    assert "The model says that 1 more TODO(s) are needed: A test is missing." in person.asked[1]
    assert "no tests, a page" in model.last(5)
    assert person.states[-1] == ["done", "skipped", "done"]
    assert "The task is complete" in exchange.response


def test_a_plan_has_at_most_twenty_todos_and_says_so(project: Project, settings: Any) -> None:
    many = said("Many.", todos=[todo(f"Step {number}") for number in range(30)])
    person = Planner((False, ""))
    with working(project, [many], person, settings) as (chat, _):
        chat.say(TASK)
    assert "TODO 20: Step 19" in person.asked[0]
    assert "TODO 21" not in person.asked[0]
    assert person.notices[0] == "The model named 30 TODOs; the first 20 are kept."


def test_a_mode_that_is_dropped_keeps_what_it_wrote_and_leaves_no_leave_behind(project: Project, settings: Any) -> None:
    person = Planner((True, ""), Waiting(WaitReason.CONFIRMATION))
    no = judged(False)
    with working(project, [ONE, WRITE, DONE, no, DONE, no, DONE, no], person, settings) as (chat, _):
        with pytest.raises(Waiting):
            chat.say(TASK)
        with pytest.raises(NoPlan, match="under way"):
            chat.follow()
        assert chat.drop("it takes too long") is not None
        chat.set_mode("chat")
    repository = repository_of(project, chat.run)
    assert repository.read(repository.head(), SCRIPT)
    with talking(project, ["<<WRITE: b.txt>>\nb\n<</WRITE>>", "There."], person, settings, run=chat.run) as (
        again,
        model,
    ):
        again.say("Write b.txt")
    assert [wish.title for wish in person.wishes] == ["create b.txt"]
    assert TASK in json.dumps(model.prompts[0]), "what was done before is remembered"


def test_on_the_dashboard_its_questions_wait_and_it_goes_on_after_each_answer(project: Project, settings: Any) -> None:
    by, answers = owner_of(project), []
    run = engine.new_chat(project, by=by)
    chat = Chat.objects.get(run=run)
    replies = [ONE, tool("ask_person", question="Is it polite?"), WRITE, DONE, RIGHT, END]
    with replying_model(replies) as model:
        settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": model.url}
        Chat.objects.filter(pk=chat.pk).update(words=TASK, state=ChatState(mode="todo").to_json(), speaker=by)
        for _ in range(3):
            chat.refresh_from_db()
            run.refresh_from_db()
            take(run, chat)
            for asked in Approval.objects.filter(run=run, status=Approval.Status.PENDING):
                answers.append(asked.title)
                answer_chat(asked, by=by, leave="once")
    assert answers == [f"Follow the plan for: {TASK}", "Is it polite?"]
    assert len(model.prompts) == len(replies)
    repository = repository_of(project, run)
    assert repository.read(repository.head(), SCRIPT) == 'print("Hello")\n'


def test_it_ends_at_the_limit_of_tokens_and_goes_on_when_that_is_raised(project: Project, settings: Any) -> None:
    person = Planner()
    with working(project, [ONE, WRITE, DONE, RIGHT, END], person, settings) as (chat, model):
        limits = chat.context.limits
        chat.context.limits = replace(limits, run_tokens=250)
        with pytest.raises(OverBudget):
            chat.say(TASK)
        assert len(model.prompts) < 4
        chat.context.limits = limits
        assert "The task is complete" in chat.go_on().response
        assert len(model.prompts) == 5
