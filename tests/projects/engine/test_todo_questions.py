"""TODO mode asks, waits, is killed, ends and goes on: no person is passed over and nothing is done twice."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.conversation import todo as todo_mode
from agents.conversation.planning import NoPlan
from agents.conversation.state import ChatState
from agents.engine.contracts import OverBudget
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import PermissionDecided
from projects.engine import chat as engine
from projects.engine.chat_turns import take
from projects.models import Approval, Chat, Project
from projects.services.audit.chain import verify_run
from projects.services.decisions.approvals import answer_chat
from projects.storage.paths import repository_of
from tests.factories import owner_of
from tests.projects.engine.talking import Planner, Talked, Talking, answering, payloads
from tests.projects.engine.todo_replies import DONE, END, ONE, RIGHT, SCRIPT, TASK, WRITE, judged, said, todo, tool
from tests.tables import each_row

pytestmark = pytest.mark.django_db(transaction=True)


@each_row(("answer", "state"), [((True, ""), "done"), ((False, "use English"), "done"), ((False, ""), "skipped")])
def test_after_three_refusals_a_person_chooses_the_next(worked: Talked, answer: tuple[bool, str], state: str) -> None:
    no = judged(False, "Wrong.")
    person = Planner((True, ""), answer)
    replies = [ONE, WRITE, DONE, no, DONE, no, DONE, no, *([DONE, RIGHT] if state == "done" else []), END]
    _, model, exchange = worked(replies, person)
    question = person.asked[1]
    assert "[!] not accepted: TODO 1" in question
    assert "Its result was not accepted 3 times: Wrong." in question
    assert "Yes: retry. No, with words: adjust with these words, then retry. No: skip." in question
    assert person.states[-1] == [state]
    assert f"1 {state}" in exchange.response
    if answer[1]:
        assert "The person adds:\nuse English" in model.last(8)


def test_the_model_changes_and_skips_no_todo_against_a_persons_no(worked: Talked) -> None:
    person = Planner(confirms=False)
    skip, weaken = tool("todo_skip", number=1), tool("todo_update", number=1, expected="Nothing")
    chat, model, _ = worked([ONE, skip, weaken, WRITE, DONE, RIGHT, END], person)
    assert "Expected result: It prints a greeting" in model.last(3)
    assert [result.ok for result in person.results] == [False, False, True]
    assert [one["answer"] for one in payloads(chat.run, PermissionDecided.type)] == ["no", "no"]


@each_row(("call", "dies_at"), [("finished", 1), ("finished", 3), ("replied", 2), ("replied", 6), ("progress", 2)])
def test_a_killed_mode_goes_on_where_it_was_and_does_nothing_twice(working: Talking, call: str, dies_at: int) -> None:
    person, times = Planner(), iter(range(1, 100))
    whole = getattr(person, call)

    def dying(*given: Any) -> None:
        whole(*given)
        if next(times) == dies_at:
            raise KeyboardInterrupt

    setattr(person, call, dying)
    more = [tool("create_file", path=f"{name}.txt", content="x") for name in "ab"]
    replies = [ONE, WRITE, *more, DONE, RIGHT, END]
    with working(replies, person) as (chat, model):  # noqa: SIM117
        with pytest.raises(KeyboardInterrupt):
            chat.say(TASK)
    left = replies[len(model.prompts) :]
    person = Planner()
    with working(left, person, run=chat.run) as (again, model):
        exchange = again.go_on()
        assert {SCRIPT, "a.txt", "b.txt"} <= set(again.context.files.paths())
    assert "The task is complete" in exchange.response
    assert len(model.prompts) == len(left), "no reply that was paid for is asked for again"
    assert not person.asked
    assert verify_run(chat.run.pk).ok


def test_it_waits_for_a_person_in_the_middle_of_a_todo_and_at_each_question(working: Talking) -> None:
    absent = Waiting(WaitReason.CONFIRMATION)

    class Absent(Planner):
        def confirm(self, question: str) -> bool:
            raise absent

    question = tool("ask_person", question="Is it polite?")
    no = judged(False, "Wrong.")
    replies = [ONE, question, DONE, no, DONE, no, DONE, no, END]
    with working(replies, Absent(absent)) as (chat, model):
        with pytest.raises(Waiting):
            chat.say(TASK)
        assert len(model.prompts) == 1
        with pytest.raises(Waiting):
            chat.go_on()
        assert len(model.prompts) == 2
    with working(replies[2:], Planner(absent, (False, "")), run=chat.run) as (again, model):
        with pytest.raises(Waiting):
            again.go_on()
        assert "The person answered: yes." in model.last(0)
        exchange = again.go_on()
    assert "1 skipped" in exchange.response


@each_row("kind", ["the same", "something else", "no json", "not yet"])
def test_an_endless_model_is_ended_whoever_says_yes(worked: Talked, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    _, model, exchange = worked(reply, person)
    assert "The task is not complete" in exchange.response
    assert len(person.states[-1]) == 3, "TODOs are added twice at most"
    assert len(model.prompts) < 60
    assert any("1 more TODO(s) are needed" in asked for asked in person.asked)


def test_a_tool_fails_and_the_person_skips_the_todo(worked: Talked) -> None:
    two = said("Two.", todos=[todo("Change the notes"), todo("Write the script")])
    edit = tool("edit_file", path="notes.txt", search="a", replace="b")
    no = judged(True, "I think it is fine.")
    person = Planner((True, ""), (False, ""))
    replies = [two, edit, DONE, no, DONE, no, DONE, no, WRITE, DONE, RIGHT, END]
    _, model, exchange = worked(replies, person)
    assert "The newest command failed (edit notes.txt): ERROR: File not found at 'notes.txt'" in person.asked[1]
    assert person.states[-1] == ["skipped", "done"]
    assert "skipped by the person's choice, do not add them again: 1" in model.last()
    assert "1 done, 1 skipped" in exchange.response


def test_todos_that_are_missing_at_the_end_are_shown_and_done_after_a_yes(worked: Talked) -> None:
    more = said("A test is missing.", complete=False, todos=[todo("Write a test")])
    person = Planner((True, ""), (False, "no tests, a page"), (True, ""))
    page = said("A page then.", complete=False, todos=[todo("Write a page")])
    replies = [ONE, WRITE, DONE, RIGHT, more, page, DONE, RIGHT, END]
    _, model, exchange = worked(replies, person)
    assert "The model says that 1 more TODO(s) are needed: A test is missing." in person.asked[1]
    assert "no tests, a page" in model.last(5)
    assert person.states[-1] == ["done", "skipped", "done"]
    assert "The task is complete" in exchange.response


def test_a_dropped_mode_keeps_what_it_wrote_and_no_leave(talking: Talking, working: Talking, project: Project) -> None:
    person = Planner((True, ""), Waiting(WaitReason.CONFIRMATION))
    no = judged(False)
    with working([ONE, WRITE, DONE, no, DONE, no, DONE, no], person) as (chat, _):
        with pytest.raises(Waiting):
            chat.say(TASK)
        with pytest.raises(NoPlan, match="under way"):
            chat.follow()
        assert chat.drop("it takes too long") is not None
        chat.set_mode("chat")
    repository = repository_of(project, chat.run)
    assert repository.read(repository.head(), SCRIPT)
    with talking(["<<WRITE: b.txt>>\nb\n<</WRITE>>", "There."], person, run=chat.run) as (again, model):
        again.say("Write b.txt")
    assert [wish.title for wish in person.wishes] == ["create b.txt"]
    assert TASK in json.dumps(model.prompts[0]), "what was done before is remembered"


def test_on_the_dashboard_its_questions_wait_and_it_goes_on_after_each_answer(project: Project, settings: Any) -> None:
    by, answers = owner_of(project), []
    run = engine.new_chat(project, by=by)
    chat = Chat.objects.get(run=run)
    replies = [ONE, tool("ask_person", question="Is it polite?"), WRITE, DONE, RIGHT, END]
    with answering(settings, replies) as model:
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


def test_it_ends_at_the_limit_of_tokens_and_goes_on_when_that_is_raised(working: Talking) -> None:
    person = Planner()
    with working([ONE, WRITE, DONE, RIGHT, END], person) as (chat, model):
        limits = chat.context.limits
        chat.context.limits = replace(limits, run_tokens=250)
        with pytest.raises(OverBudget):
            chat.say(TASK)
        assert len(model.prompts) < 4
        chat.context.limits = limits
        assert "The task is complete" in chat.go_on().response
        assert len(model.prompts) == 5
