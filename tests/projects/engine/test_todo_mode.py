"""TODO mode: a task becomes TODOs that a person approves, and each is judged before it is done."""

from typing import Any

import pytest

from agents.conversation.todo_json import SCHEMA, schema_with
from agents.events.effects import CommitMade
from agents.events.lifecycle import HumanMessage, TodoChanged
from agents.events.reasoning import DecisionMade, Thought
from projects.models import Project
from projects.services.audit.chain import verify_run
from projects.storage.paths import repository_of
from tests.projects.engine.talking import Planner, Talked, Talking, payloads
from tests.projects.engine.todo_replies import DONE, END, ONE, RIGHT, SCRIPT, TASK, WRITE, judged, said, todo, tool
from tests.texts import shows

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_task_becomes_todos_that_are_confirmed_worked_on_and_judged(working: Talking, project: Project) -> None:
    plan = said("Two steps.", todos=[todo("Write the script", "It prints a greeting"), todo("Add a line to README.md")])
    edit = tool("create_file", path="docs/hello.md", content="hello.py greets.\n")
    person = Planner()
    replies = [plan, WRITE, DONE, RIGHT, edit, DONE, RIGHT, END]
    with working(replies, person) as (chat, model):
        exchange = chat.say(TASK)
        assert chat.conversation.turn is None
    (shown,) = person.asked
    for words in ("[ ] pending: TODO 1: Write the script", "Expected: It prints a greeting", "TODO 2: Add a line"):
        assert words in shown
    assert person.states[0] == ["in_progress", "pending"]
    assert person.states[-1] == ["done", "done"]
    shows(exchange.response, "**The task is complete (2 done).**", "Everybody is greeted.")
    assert "Everybody is greeted." in person.spoken
    assert "Everybody is greeted." not in person.notices[-1], "nothing is said twice"
    assert not person.wishes, "what the approved plan writes needs no further question"
    repository = repository_of(project, chat.run)
    assert repository.read(repository.head(), SCRIPT) == 'print("Hello")\n'
    states = [(one["number"], one["state"]) for one in payloads(chat.run, TodoChanged.type)]
    assert states == [(1, "pending"), (2, "pending"), (1, "in_progress"), (1, "done"), (2, "in_progress"), (2, "done")]
    assert [one["choice"] for one in payloads(chat.run, DecisionMade.type)] == ["approved", "accepted", "accepted"]
    assert payloads(chat.run, CommitMade.type)
    assert verify_run(chat.run.pk).ok
    assert len(model.prompts) == len(replies)
    thoughts = list(chat.run.events.filter(type=Thought.type).order_by("seq").values_list("summary", flat=True))
    assert thoughts[0] == "TODOs, as JSON"
    assert "The judgement of a TODO, as JSON" in thoughts


def test_a_no_with_words_has_it_planned_again_and_a_plain_no_does_nothing(worked: Talked) -> None:
    person = Planner((False, "in French"), (False, ""))
    chat, model, exchange = worked([ONE, said("Other.", todos=[todo("Écrire")])], person)
    assert "The person adds:\nin French" in model.last(1)
    assert "TODO 1: Écrire" in person.asked[1]
    assert exchange.response == "Nothing was done: the plan was not approved."
    assert person.notices == [exchange.response], "the person is told"
    assert len(model.prompts) == 2
    assert not payloads(chat.run, CommitMade.type)
    assert "in French" in [one["text"] for one in payloads(chat.run, HumanMessage.type)]


def test_files_may_be_looked_at_before_the_plan_but_nothing_is_written_or_run(worked: Talked) -> None:
    looks = f"{tool('find_files', words='README')}\n<<EXEC: touch x>>\n<<WRITE: x>>\nx\n<</WRITE>>"
    person = Planner((False, ""))
    chat, model, _ = worked([looks, ONE], person)
    assert "x" not in chat.context.files.paths()
    assert [result.ok for result in person.results] == [True, False, False]
    assert "Nothing is written or run before the plan is approved" in model.last(1)


def test_a_result_that_is_not_accepted_is_tried_again_with_the_feedback(worked: Talked) -> None:
    block = '<<<<<<< SEARCH\nprint("Hello")\n=======\nprint("Hello!")\n>>>>>>> REPLACE'
    again = f"{said('Again.')}\n<<EDIT: {SCRIPT}>>\n{block}\n<</EDIT>>"
    no, still = judged(False, "No exclamation mark."), judged(False, "Not yet.")
    person = Planner()
    replies = [ONE, WRITE, DONE, no, DONE, still, again, DONE, RIGHT, END]
    chat, model, _ = worked(replies, person)
    assert "was not accepted: No exclamation mark." in model.last(4)
    shows(model.last(6), "was not accepted: Not yet.", "TODO 1 not accepted: No exclamation mark.")
    assert "Note: No exclamation mark." in person.notices[0]
    assert len(person.asked) == 1, "no person was needed"
    decisions = [one["choice"] for one in payloads(chat.run, DecisionMade.type)]
    assert decisions == ["approved", "not accepted", "not accepted", "accepted"]


@pytest.mark.bubblewrap
def test_nothing_is_done_on_the_models_word_while_the_newest_command_failed(worked: Talked, settings: Any) -> None:
    run = tool("run_command", command="cat greeting.txt")
    mended = f"{said('It was missing.')}\n<<WRITE: greeting.txt>>\nHello\n<</WRITE>>"
    person = Planner()
    replies = [ONE, run, DONE, RIGHT, mended, DONE, RIGHT, run, DONE, RIGHT, END]
    chat, model, _ = worked(replies, person)
    against = "The newest command failed (exec cat greeting.txt): exit code: 1."
    assert f"{against} The result cannot be accepted" in model.last(3), "whoever judges is told"
    assert "No such file" in model.last(3)
    assert f"not accepted: {against}" in model.last(4)
    assert f"{against} The result cannot be accepted" in model.last(6), "a file that was written since proves nothing"
    assert f"{against} The result cannot be accepted" not in model.last(9)
    assert "No such file" not in model.last(9), "what was run again is shown once"
    assert person.states[-1] == ["done"]
    notes = [one["reason"] for one in payloads(chat.run, TodoChanged.type) if one["state"] == "in_progress"]
    assert notes[-1] == against, "what praises it is left out"
    assert ("Tool: terminal", "  Input: cat greeting.txt") in list(zip(person.shown, person.shown[1:], strict=False))


def test_replies_in_a_small_models_json_are_understood_with_placeholders_for_what_is_missing(worked: Talked) -> None:
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
    _, model, exchange = worked(replies, person)
    assert "Expected: (no expected result given)" in person.asked[0]
    assert person.states[-1] == ["done"]
    assert "All is well" in exchange.response
    assert "(no message given)" in model.last(3)
    assert "(no feedback given)" in exchange.response


def test_a_reply_without_json_is_asked_for_twice_more_then_shown_as_words_with_the_choice(worked: Talked) -> None:
    person = Planner((True, ""), (True, ""), (False, ""))
    words = "I would rather talk about the weather."
    replies = [words, words, words, ONE, words, words, words, END]
    _, model, _ = worked(replies, person)
    assert "Your last reply could not be used: it holds no JSON object of the shape" in model.last(1)
    assert f"The model made no TODOs. It says: {words}" in person.asked[0]
    assert f"The model's replies cannot be used. It says: {words}" in person.asked[2]
    assert "No: skip." in person.asked[2]
    assert person.states[-1] == ["skipped"]
    assert len(model.prompts) == len(replies)


def test_each_tool_is_shown_with_its_input_and_output_and_errors_with_next_steps(worked: Talked) -> None:
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
    chat, _, _ = worked(replies, person)
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


def test_every_call_is_shown_everything_afresh(worked: Talked) -> None:
    two = said("Two.", todos=[todo("Write the script"), todo("Write the notes")])
    read = tool("read_file", path=SCRIPT)
    replies = [two, WRITE, read, DONE, RIGHT, tool("read_file", path="README.md"), DONE, RIGHT, END]
    _, model, _ = worked(replies, Planner())
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


def test_a_file_that_was_changed_is_shown_as_it_is_and_no_longer_as_it_was_read(worked: Talked) -> None:
    reads = f"{said('I look.')}\n<<READ: ./{SCRIPT}:1-1>>\n<<READ: README.md>>"
    again = WRITE.replace("Hello", "Goodbye")
    replies = [ONE, WRITE, reads, again, tool("read_file", path=SCRIPT), DONE, RIGHT, END]
    _, model, _ = worked(replies, Planner())
    assert f'path={SCRIPT} from=repository\nprint("Hello")' in model.last(2), "a model does not remember what it wrote"
    changed = model.last(4)
    assert 'print("Hello")' not in changed
    shows(changed, f'path={SCRIPT} from=repository\nprint("Goodbye")', "read README.md:\n")
    assert f"read {SCRIPT}:\n" in model.last(5), "what was read since is kept"


@pytest.mark.bubblewrap
def test_a_result_claimed_with_a_command_that_fails_is_not_judged_yet(worked: Talked, settings: Any) -> None:
    run = {"name": "run_command", "input": {"command": "cat greeting.txt"}}
    done = {"name": "todo_done", "input": {}}
    hasty = [said("It prints it.", tool=run, complete=True), said("It prints it.", tool=[run, done])]
    written = "<<WRITE: greeting.txt>>\nHello\n<</WRITE>>\n<<EXEC: cat greeting.txt>>"
    mended = f"{said('It was missing.', complete=True)}\n{written}"
    person = Planner()
    chat, model, _ = worked([ONE, *hasty, mended, RIGHT, END], person)
    waits = "TODO 1 is not judged yet: The newest command failed (exec cat greeting.txt): exit code: 1."
    assert [model.last(at).count(waits) for at in (2, 3)] == [1, 2]
    assert "Judge the result" in model.last(4)
    assert person.states[-1] == ["done"]
    assert [one["choice"] for one in payloads(chat.run, DecisionMade.type)] == ["approved", "accepted"]


def test_what_has_no_file_in_it_is_asked_with_the_schema(worked: Talked) -> None:
    person = Planner()
    _, model, _ = worked([ONE, WRITE, DONE, RIGHT, END], person)
    assert model.schemas == [SCHEMA, None, None, schema_with("judgement"), schema_with("complete")]
    assert person.spoken.splitlines()[0] == "One step."
    assert "{" not in person.spoken, "people read the message instead of the JSON"


def test_a_plan_has_at_most_twenty_todos_and_says_so(worked: Talked) -> None:
    many = said("Many.", todos=[todo(f"Step {number}") for number in range(30)])
    person = Planner((False, ""))
    _, _, _ = worked([many], person)
    assert "TODO 20: Step 19" in person.asked[0]
    assert "TODO 21" not in person.asked[0]
    assert person.notices[0] == "The model named 30 TODOs; the first 20 are kept."
