"""Chats in the dashboard: words begin a turn, questions wait for an answer, and it goes on exactly where it was."""

from typing import Any

import pytest

from agents.events.effects import CommandRan, ErrorRaised, PermissionDecided, ToolUsed
from agents.events.lifecycle import HumanMessage
from projects.engine import chat as engine
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.jobs import upkeep
from projects.models import Approval, Chat, Project, Run
from projects.services.audit.chain import verify_run
from projects.services.decisions import approvals
from projects.services.planning import runs
from projects.services.work import chats, transcripts
from projects.storage.paths import repository_of
from tests.factories import make_user, owner_of
from tests.projects.engine.talking import Person, answering
from tests.projects.jobs_driver import Driver
from tests.rows import fresh

pytestmark = [pytest.mark.django_db(transaction=True)]
HELLO = "I write it.\n<<WRITE: hello.py>>\nprint('Hello')\n<</WRITE>>\nThat is all."


def chat_in(project: Project) -> Run:
    return engine.new_chat(project, by=owner_of(project))


def say(run: Run, driver: Driver, text: str) -> None:
    chats.send(run, by=owner_of(run.project), text=text)
    driver.work()
    run.refresh_from_db()


def question_of(run: Run) -> Approval:
    return Approval.objects.get(run=run, status=Approval.Status.PENDING)


def respond(run: Run, driver: Driver, leave: str, reason: str = "") -> None:
    approvals.answer_chat(question_of(run), by=owner_of(run.project), leave=leave, reason=reason)
    driver.work()
    run.refresh_from_db()


def steps_of(run: Run) -> list[tuple[str, str]]:
    run.refresh_from_db()
    found = [entry.step for turn in transcripts.transcript(run).turns for entry in turn.entries if entry.step]
    return [(step.title, step.state) for step in found]


def test_words_begin_a_turn_and_leave_lets_it_go_on(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, [HELLO, "It is there."]) as model:
        say(run, driver, "Create hello.py")
        asked = question_of(run)
        assert (run.status, run.why) == (Run.Status.NEEDS_YOU, "needs you: the model asks: create hello.py")
        assert asked.payload["diff"].endswith("+print('Hello')\n")
        assert steps_of(run) == [("write hello.py", "asked")]
        with pytest.raises(IllegalMove, match="waits for your answer"):
            chats.send(run, by=owner_of(project), text="And now?")
        respond(run, driver, "once")
        assert len(model.prompts) == 2
    assert run.status == Run.Status.PAUSED
    assert steps_of(run) == [("write hello.py", "passed")]
    repository = repository_of(project, run)
    assert repository.read(repository.head(), "hello.py") == "print('Hello')\n"
    (turn,) = transcripts.transcript(run).turns
    words = [entry.words for entry in turn.entries if entry.words]
    assert words == ["I write it.", "That is all.", "It is there."]
    assert turn.who == owner_of(project).username
    (step,) = [entry.step for entry in turn.entries if entry.step]
    assert step.leaves == ["create hello.py: yes"]
    assert "+print('Hello')" in step.diff
    assert [file.path for file in transcripts.changed_files(run)] == ["hello.py"]
    assert Chat.objects.get(run=run).title == "Create hello.py"
    assert verify_run(run.pk).ok


def test_yes_for_the_session_holds_and_a_no_needs_no_reason(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    other = HELLO.replace("hello", "other")
    delete = "<<DELETE: other.py>>"
    with answering(settings, [HELLO, other, delete, "As you wish."]) as model:
        say(run, driver, "Write two, delete one")
        respond(run, driver, "session")
        asked = question_of(run)
        assert asked.payload["each_time"]
        repository = repository_of(project, run)
        assert repository.read(repository.head(), "other.py"), "what was allowed is on the branch while it waits"
        with pytest.raises(BadInput):
            approvals.answer_chat(asked, by=owner_of(project), leave="session")
        respond(run, driver, "no")
        assert "The person said no" in model.last()
    answers = run.events.filter(type=PermissionDecided.type).values_list("payload__answer", flat=True)
    assert list(answers) == ["session", "no"]


@pytest.mark.bubblewrap
def test_a_command_whose_files_are_asked_about_runs_once(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, ["<<EXEC: echo made > out.txt>>", "Done."]) as model:
        say(run, driver, "Make out.txt")
        respond(run, driver, "once")
        assert question_of(run).title == "keep 1 changed file"
        respond(run, driver, "once")
        assert "Kept: out.txt (created)." in model.last()
    assert run.events.filter(type=CommandRan.type, outcome="ok").count() == 1


def test_a_question_of_the_model_is_answered_from_the_queue(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, ['<<CONFIRM: "All files?">>', "Fine."]) as model:
        say(run, driver, "Tidy up")
        developer = make_user("dev", role="developer", project=project)
        security = make_user("sec", role="security", project=project)
        assert [row.title for row in approvals.pending_for(developer)] == ["All files?"]
        assert not approvals.pending_for(security).exists()
        with pytest.raises(NotAllowed):
            approvals.decide(question_of(run), by=security, yes=True)
        approvals.decide(question_of(run), by=developer, yes=True)
        driver.work()
        assert "The person answered: yes." in model.last()


def test_a_plan_waits_for_its_yes_and_is_made_anew_with_words(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    replies = ["1. Write hello.py", "1. Write hello.py\n2. Explain it", HELLO, "Done.", "It prints Hello."]
    with answering(settings, replies) as model:
        say(run, driver, "/plan a greeting")
        assert question_of(run).payload["steps"] == ["1. Write hello.py"]
        respond(run, driver, "no", "explain it too")
        assert len(model.prompts) == 2
        assert "explain it too" in model.last()
        respond(run, driver, "once")
    assert run.status == Run.Status.PAUSED
    assert not chats.is_unfinished(Chat.objects.get(run=run))
    said = run.events.filter(type=HumanMessage.type).order_by("seq").values_list("payload__text", flat=True)
    assert list(said) == ["/plan a greeting", "Step 1: Write hello.py", "Step 2: Explain it"]


def test_without_a_model_the_page_says_so_and_it_goes_on_later(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    say(run, driver, "Hello?")
    found = chats.standing(run, Chat.objects.get(run=run))
    assert run.status == Run.Status.PAUSED
    assert found.takes_words
    assert found.unfinished
    assert run.events.get(type=ErrorRaised.type).payload["message"] == run.why
    with answering(settings, ["Hello."]):
        runs.resume_run(run, by=owner_of(project))
        driver.work()
    assert run.events.filter(type=HumanMessage.type).count() == 1
    with pytest.raises(IllegalMove, match="nothing to go on with"):
        runs.resume_run(run, by=owner_of(project))


def test_the_mode_and_the_persons_own_commands(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, [HELLO, "I may not.", "It was so."]) as model:
        chats.send(run, by=owner_of(project), text="Look at it", mode="review")
        driver.work()
        assert "review mode" in model.last()
        assert Chat.objects.get(run=run).state["mode"] == "review"
        say(run, driver, "/clear")
        say(run, driver, "/merge")
        assert chats.standing(run, Chat.objects.get(run=run)).takes_words
        for words, why in (("/dance", "no command /dance"), ("/plan", "after /plan")):
            with pytest.raises(BadInput, match=why):
                chats.send(run, by=owner_of(project), text=words)
        say(run, driver, "/etc/hosts is what?")
        assert len(model.prompts[-1]) == 2, "what was said before is forgotten"
    said = [entry.event for turn in transcripts.transcript(run).turns for entry in turn.entries if entry.event]
    assert [event.summary for event in said] == [
        "What was said before is forgotten; the files stay.",
        "The chat has changed nothing yet.",
    ]


def test_a_job_changes_nothing_while_another_holds_the_chat(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    person = Person()
    person.place = Chat.DASHBOARD  # type: ignore[attr-defined]
    with engine.open_chat(run, by=owner_of(project), surface=person):
        Chat.objects.filter(run=run).update(words="Hello?")
        driver.waiting.append((chats.JOB, (run.pk,)))
        driver.work()
        assert fresh(run).status == Run.Status.RUNNING
    assert not run.events.filter(type=ErrorRaised.type).exists()
    assert Chat.objects.get(run=run).words == "Hello?"


def test_a_turn_without_an_end_ends_in_a_sentence(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, lambda messages: f"<<READ: README.md:{len(messages)}>>"):
        say(run, driver, "Read on")
    assert run.status == Run.Status.PAUSED
    assert "without coming to an end" in run.events.get(type=ErrorRaised.type).summary
    assert not chats.standing(run, Chat.objects.get(run=run)).unfinished


def test_a_stopped_turn_is_given_up_when_other_words_come(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    with answering(settings, [HELLO, "Hello to you."]):
        say(run, driver, "Create hello.py")
        runs.pause_run(run, by=owner_of(project))
        assert not Approval.objects.filter(run=run, status=Approval.Status.PENDING).exists()
        assert chats.standing(run, Chat.objects.get(run=run)).unfinished
        say(run, driver, "Leave it")
    assert steps_of(run) == [("write hello.py", "skipped")]


def test_a_chat_open_elsewhere_takes_no_words_and_is_not_swept(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    by = owner_of(project)
    with engine.open_chat(run, by=by, surface=Person()):
        run.refresh_from_db()
        for refused in (
            lambda: chats.send(run, by=by, text="Hello?"),
            lambda: runs.pause_run(run, by=by),
            lambda: runs.resume_run(run, by=by),
        ):
            with pytest.raises(IllegalMove, match="open in a terminal"):
                refused()
        upkeep.sweep()
    run.refresh_from_db()
    upkeep.sweep()
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RUNNING)  # its terminal was killed
    upkeep.sweep()
    assert not driver.waiting
    runs.cancel_run(run, by=by)
    assert chats.standing(run, Chat.objects.get(run=run)).why.startswith("This chat is over")


def test_a_turn_whose_worker_died_is_found_by_the_sweep(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    chats.send(run, by=owner_of(project), text="Hello?")
    driver.waiting.clear()
    with answering(settings, ["Hello."]):
        upkeep.sweep()
        driver.work()
    assert fresh(run).status == Run.Status.PAUSED
    assert Chat.objects.get(run=run).state["exchanges"][0]["response"] == "Hello."


def test_what_was_asked_here_is_asked_anew_in_a_terminal(project: Project, driver: Driver, settings: Any) -> None:
    run = chat_in(project)
    person = Person()
    with answering(settings, [HELLO, "It is there."]):
        say(run, driver, "Create hello.py")
        with engine.open_chat(run, by=owner_of(project), surface=person) as opened:
            assert not Approval.objects.filter(run=run, status=Approval.Status.PENDING).exists()
            opened.go_on()
    assert [wish.title for wish in person.wishes] == ["create hello.py"]
    assert run.events.filter(type=ToolUsed.type).count() == 1
