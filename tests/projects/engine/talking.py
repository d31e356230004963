"""Chats for tests: a person who answers as the test says, and a model with the replies of a list."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from agents.conversation.contracts import Leave, PermissionRequest
from agents.conversation.display import call_lines, plan_lines, result_lines
from agents.conversation.state import ChatPlan, Command, Exchange, ToolResult
from projects.engine.chat import OpenChat
from projects.models import Run
from tests.replying_model import Reply, ReplyingModel, replying_model

HELLO = "<<WRITE: hello.py>>\nprint('Hello, World!')\n<</WRITE>>"
# The fixtures `talking` and `working` (in TODO mode): replies, a person and, to go on with one, the run of a chat.
Talking = Callable[..., AbstractContextManager[tuple[OpenChat, ReplyingModel]]]
# The fixtures `talked` and `worked`: replies, a person and, in a chat, prompts; what came of the last one.
Talked = Callable[..., tuple[OpenChat, ReplyingModel, Exchange]]


class Person:
    """Somebody at a terminal who answers the same each time; what was shown is kept."""

    def __init__(
        self, leave: Leave = "once", *, confirms: bool = False, approves: bool = True, wants: str = ""
    ) -> None:
        self.leave, self.confirms, self.approves, self.wants = leave, confirms, approves, wants
        self.wishes: list[PermissionRequest] = []
        self.questions: list[str] = []
        self.results: list[ToolResult] = []
        self.plans: list[ChatPlan] = []
        self.notices: list[str] = []
        self.spoken = ""

    def words(self, text: str) -> None:
        self.spoken += text

    def permit(self, wish: PermissionRequest) -> Leave:
        self.wishes.append(wish)
        return self.leave

    def confirm(self, question: str) -> bool:
        self.questions.append(question)
        return self.confirms

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        self.plans.append(plan)
        return self.approves, self.wants

    def started(self, command: Command) -> None:
        pass

    def finished(self, command: Command, result: ToolResult) -> None:
        self.results.append(result)

    def progress(self, plan: ChatPlan) -> None:
        pass

    def replied(self, text: str) -> None:
        pass

    def notice(self, text: str) -> None:
        self.notices.append(text)


class Planner(Person):
    """A person who answers questions about plans in this order, then with yes."""

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


@contextmanager
def answering(settings: Any, replies: Sequence[str] | Reply) -> Iterator[ReplyingModel]:
    """A model with these replies is the one that the settings name."""
    with replying_model(replies) as model:
        settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": model.url}
        yield model


def payloads(run: Run, kind: str) -> list[dict[str, Any]]:
    """What the record of the chat says in events of this kind."""
    return [event.payload for event in run.events.filter(type=kind).order_by("seq")]


def types_of(run: Run) -> set[str]:
    return set(run.events.values_list("type", flat=True))


def killed(*_: Any) -> None:
    raise KeyboardInterrupt
